/**
 * How a signature travels through a client of another format: the client gives it back unread on its next turn, and it must
 * then reach the family that made it, and no other. A foreign signature is wrapped as base64 with its family's name in front
 * (base64, because some SDKs decode the field); a native one is passed as it is.
 */
import type { FamilyName, FormatName, Signature } from "#schemas/wire/conversation.ts"

const families: ReadonlyArray<FamilyName> = ["chat-completions", "messages", "responses", "generateContent", "local-model-server"]
const mark = "gateway-signature:"
/** What base64 of the mark begins with, whatever follows. */
const markBase64 = Buffer.from(mark).toString("base64").slice(0, 22)

/** The text that a client of `format` is given. */
export const seal = (signature: Signature, format: FormatName): string =>
  signature.family === format ? signature.value : Buffer.from(`${mark}${signature.family}:${signature.value}`).toString("base64")

/** The signature in a text that a client of `format` gave back; null for an empty text or a format that signs nothing itself. */
export const open = (text: string, format: FormatName): Signature | null => {
  if (text === "") return null
  if (text.startsWith(markBase64)) {
    const plain = Buffer.from(text, "base64").toString("utf8")
    if (plain.startsWith(mark)) {
      const colon = plain.indexOf(":", mark.length)
      const family = families.find((name) => name === plain.slice(mark.length, colon))
      return family === undefined ? null : { family, value: plain.slice(colon + 1) }
    }
  }
  return format === "completions" ? null : { family: format, value: text }
}
