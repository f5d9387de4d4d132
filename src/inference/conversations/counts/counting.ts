/** What a token count reads of its body, and what it asks a provider: pure, so that a large body is read by a thread of its own. */
import type { Target } from "#actors/request/ports/Target.ts"
import { PublicError } from "#schemas/errors.ts"
import { sample } from "#src/platform/accounting/tokens/textSample.ts"
import * as GenerateModels from "#src/wire/generateContent/generateModels.ts"
import * as GatewayFields from "#src/wire/gatewayFields.ts"
import type { Countable } from "#src/wire/messages/request/countTokens.ts"
import * as CountTokens from "#src/wire/messages/request/countTokens.ts"
import * as DecodeRequest from "#src/wire/responses/request/decodeRequest.ts"
import * as Json from "#src/wire/json/json.ts"
import { promptText } from "#src/wire/neutral/promptText.ts"
import * as SystemPrompt from "#src/inference/conversations/words/systemPrompt.ts"

type Body = Record<string, unknown>

/** Formats whose clients may ask for a count. */
export type CountingFormat = "messages" | "generateContent" | "responses"

/** A count to be estimated: the sample's tokens stand for `factor` times as many. */
export interface Sampled extends Countable {
  readonly factor: number
}

const readers: Readonly<Record<CountingFormat, (body: Body) => Countable | PublicError>> = {
  messages: CountTokens.readCountRequest,
  generateContent: (body) => {
    const conversation = GenerateModels.decodeCountTokens(body)
    return conversation instanceof PublicError ? conversation : { text: promptText(conversation), fixedTokens: 0 }
  },
  responses: (body) => {
    const head = DecodeRequest.head(body)
    const conversation = head instanceof PublicError ? head : DecodeRequest.decodeRequest(body)
    return conversation instanceof PublicError ? conversation : { text: promptText(conversation), fixedTokens: 0 }
  }
}

/** `prompt`: the gateway's own words, which the model is sent beside the client's. */
export const read = (format: CountingFormat, body: Body, prompt: SystemPrompt.SystemPrompt | null): Sampled | PublicError => {
  const checked = readers[format](body)
  const asked = checked instanceof PublicError || prompt === null ? checked : readers[format](said(format, body, prompt))
  if (asked instanceof PublicError) return asked
  return asked.text === "" ? { ...asked, factor: 1 } : { ...asked, ...sample(asked.text) }
}

/**
 * The body with the gateway's own words. A count of bare `contents` has no place for instructions, so it becomes one of a whole request;
 * `model`: whose, where a provider is asked.
 */
const said = (format: CountingFormat, body: Body, prompt: SystemPrompt.SystemPrompt, model?: string): Body => {
  if (format !== "generateContent") return { ...SystemPrompt.ofBody(prompt, format, body) }
  const name = wholes.find((whole) => Json.isRecord(body[whole]))
  if (name !== undefined) return { ...body, [name]: SystemPrompt.ofBody(prompt, format, body[name] as Body) }
  const { model: _model, stream: _stream, ...own } = body
  return { generateContentRequest: { ...model === undefined ? {} : { model: `models/${model}` }, ...SystemPrompt.ofBody(prompt, format, own) } }
}

const wholes = ["generateContentRequest", "generate_content_request"]

/** Path of the provider's own counter; null when the target has none. */
export const counterPath = (format: CountingFormat, target: Pick<Target, "path">): string | null => {
  const [path = "", query] = target.path.split("?", 2)
  const after = query === undefined ? "" : `?${query}`
  if (format === "messages") return path.endsWith("/messages") ? `${path}/count_tokens${after}` : null
  if (format === "responses") return path.endsWith("/responses") ? `${path}/input_tokens${after}` : null
  return target.path.includes(":generateContent") ? target.path.replace(":generateContent", ":countTokens") : null
}

/** What the provider's counter is sent: one family names the model in the body, the other in the path. */
export const counterBody = (format: CountingFormat, body: Body, model: string, prompt: SystemPrompt.SystemPrompt | null): Uint8Array => {
  const own = GatewayFields.ofBody(body)
  const { model: _model, ...sent } = prompt === null ? own : said(format, own, prompt, model)
  return Buffer.from(JSON.stringify(format === "generateContent" ? sent : { ...sent, model }))
}
