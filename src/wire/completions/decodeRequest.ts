/** A client's `POST /v1/completions` as a conversation of one user turn. */
import { PublicError } from "#schemas/errors.ts"
import { Request } from "#schemas/wire/completions.ts"
import type { Conversation, Extra, GenerationSettings } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"
import { decoder } from "#src/wire/neutral/decoding.ts"
import { invalid, none, reading, unsayable } from "#src/wire/neutral/settings.ts"
import type { Json as Body, RequestHead } from "#src/wire/WireFormat.ts"

const decode = decoder(Request)

/** Model, stream flag and usage wish. Called for every request: reads four fields by hand. */
export const head = (body: Body): RequestHead | PublicError => {
  const { model, prompt, stream } = body
  if (typeof model !== "string" || model === "") return invalid("model", "Field 'model' must be a non-empty string such as 'openai/gpt-4o-mini'.")
  if (!(typeof prompt === "string" || Array.isArray(prompt)) || prompt.length === 0) return invalid("prompt", "Field 'prompt' must be a non-empty string.")
  if (stream !== undefined && stream !== null && typeof stream !== "boolean") return invalid("stream", "Field 'stream' must be a boolean.")
  const options = body["stream_options"]
  const wanted = Json.isRecord(options) ? options["include_usage"] : undefined
  if ((options !== undefined && options !== null && !Json.isRecord(options)) || (wanted !== undefined && wanted !== null && typeof wanted !== "boolean")) {
    return invalid("stream_options", "Field 'stream_options' must be an object such as {\"include_usage\": true}.")
  }
  return { model, stream: stream === true, wantsUsage: wanted === true }
}

export const decodeRequest = (body: Body): Conversation | PublicError => {
  const request = decode(body)
  if (request instanceof PublicError) return request
  return reading(() => ({
    format: "completions",
    turns: [{
      role: "user", name: null, path: "prompt",
      parts: [{ kind: "text", text: promptOf(request.prompt), cache: null, annotations: [], signature: null }]
    }],
    tools: [],
    toolChoice: null,
    settings: settingsOf(request),
    extras: extrasOf(request, body)
  }))
}

/** The one text of a prompt; throws (inside `reading`) for any other. */
export const promptOf = (prompt: Request["prompt"]): string => {
  if (typeof prompt === "string") {
    if (prompt === "") throw invalid("prompt", "Field 'prompt' must be a non-empty string.")
    return prompt
  }
  const [first] = prompt
  if (prompt.some((one) => typeof one !== "string")) throw unsayable("prompt", "token numbers mean something to one tokenizer alone; send the text.")
  if (prompt.length !== 1 || typeof first !== "string") throw unsayable("prompt", "one prompt a request; send several requests.")
  if (first === "") throw invalid("prompt[0]", "Field 'prompt[0]' must be a non-empty string.")
  return first
}

const settingsOf = (request: Request): GenerationSettings => {
  const { logprobs, stop } = request
  return {
    ...none,
    maxTokens: request.max_tokens ?? null,
    temperature: request.temperature ?? null,
    topP: request.top_p ?? null,
    choices: request.n ?? null,
    stop: stop === undefined || stop === null || stop.length === 0 ? null : typeof stop === "string" ? [stop] : stop,
    seed: request.seed ?? null,
    frequencyPenalty: request.frequency_penalty ?? null,
    presencePenalty: request.presence_penalty ?? null,
    logitBias: request.logit_bias ?? null,
    // One number says both: that they are wanted, and how many alternatives.
    logprobs: logprobs === undefined || logprobs === null ? null : true,
    topLogprobs: logprobs ?? null,
    user: request.user ?? null
  }
}

const known = [
  "model", "prompt", "suffix", "max_tokens", "temperature", "top_p", "n", "stream", "stream_options", "logprobs", "echo", "stop",
  "presence_penalty", "frequency_penalty", "best_of", "logit_bias", "user", "seed"
]

/** Text behind the answer, the prompt in front of it, and the best of several cannot be asked of a chat model. */
const extrasOf = (request: Request, body: Body): ReadonlyArray<Extra> => {
  const extras: Array<Extra> = []
  const { best_of: best, echo, suffix } = request
  if (suffix !== undefined && suffix !== null && suffix !== "") extras.push({ field: "suffix", weight: "essential", value: suffix })
  if (echo === true) extras.push({ field: "echo", weight: "essential", value: echo })
  if (best !== undefined && best !== null && best > Math.max(1, request.n ?? 1)) extras.push({ field: "best_of", weight: "essential", value: best })
  for (const [field, value] of Object.entries(body)) {
    if (!known.includes(field) && value !== null) extras.push({ field, weight: "hint", value })
  }
  return extras
}
