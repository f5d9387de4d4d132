/** How the vendor of each format says that a prompt is too long: agents shorten their history when they read these words. */
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { CallFormat } from "#schemas/wire/formats.ts"

const messageOf = (face: CallFormat, tokens: number, window: number): string => {
  switch (face) {
    case "messages":
      return `prompt is too long: ${tokens} tokens > ${window} maximum`
    case "generateContent":
      return `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${window}).`
    case "local-model-server":
      return `prompt is too long: ${tokens} tokens exceed the context window of ${window} tokens`
    default:
      return `This model's maximum context length is ${window} tokens. However, your messages resulted in ${tokens} tokens.`
  }
}

/** The field that the common error form names. */
const params: Partial<Record<CallFormat, string>> = { "chat-completions": "messages", "responses": "input", "completions": "prompt" }

/** `tokens`: those that the prompt has at least. */
export const refusal = (face: CallFormat, tokens: number, window: number, extra: Errors.ErrorExtra = {}): PublicError => {
  const param = params[face]
  return Errors.make("context_length_exceeded", messageOf(face, tokens, window), { extra: { ...(param === undefined ? {} : { param }), ...extra } })
}
