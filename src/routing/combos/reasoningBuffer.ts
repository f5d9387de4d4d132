/**
 * reasoningTokenBufferEnabled of a combo: models that reason count their thoughts inside the client's cap on the answer,
 * so that a small cap ends in an empty one. Such a target is given room for thoughts beside the cap, never above what its model can say.
 */
import type { Conversation, FormatName } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"

type Body = Readonly<Record<string, unknown>>

/** Least room for thoughts, tokens; a larger cap is doubled. */
const leastRoom = 4_096

/** `modelMax`: null when it is not known. */
export const widened = (cap: number, modelMax: number | null): number =>
  Math.max(cap, Math.min(modelMax ?? Number.POSITIVE_INFINITY, cap + Math.max(leastRoom, cap)))

export const ofConversation = (conversation: Conversation, modelMax: number | null): Conversation => {
  const { maxTokens } = conversation.settings
  return maxTokens === null ? conversation : { ...conversation, settings: { ...conversation.settings, maxTokens: widened(maxTokens, modelMax) } }
}

const capsOf: Readonly<Record<FormatName, { readonly within: string | null; readonly names: ReadonlyArray<string> }>> = {
  "chat-completions": { within: null, names: ["max_completion_tokens", "max_tokens"] },
  completions: { within: null, names: ["max_tokens"] },
  messages: { within: null, names: ["max_tokens"] },
  responses: { within: null, names: ["max_output_tokens"] },
  generateContent: { within: "generationConfig", names: ["maxOutputTokens"] },
  "local-model-server": { within: "options", names: ["num_predict"] }
}

/** The same over a body that is forwarded in its own format. */
export const ofBody = (format: FormatName, body: Body, modelMax: number | null): Body => {
  const { names, within } = capsOf[format]
  const place = within === null ? body : Json.recordAt(body as Record<string, unknown>, within)
  if (place === null) return body
  const wider = Object.fromEntries(names.flatMap((name) => {
    const cap = place[name]
    return typeof cap === "number" && cap > 0 ? [[name, widened(cap, modelMax)] as const] : []
  }))
  return within === null ? { ...body, ...wider } : { ...body, [within]: { ...place, ...wider } }
}
