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

/** What stands where a format wants a signature and a thought has none. */
export const unsigned = Buffer.from(`${mark}none:`).toString("base64")

/** True for what `seal` or `unsigned` made: no vendor would take it. */
export const isSealed = (text: string): boolean => text.startsWith(markBase64) && Buffer.from(text, "base64").toString("utf8").startsWith(mark)

/** Texts that a vendor takes in the place of a signature and does not check: they sign nothing, and mean nothing to another vendor. */
const dummies = new Set(["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"].flatMap((text) => [text, Buffer.from(text).toString("base64")]))

/** The signature in a text that a client of `format` gave back; null for one that signs nothing, or a format that signs nothing itself. */
export const open = (text: string, format: FormatName): Signature | null => {
  if (text === "" || dummies.has(text)) return null
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
