/**
 * Signatures where the messages format has no place for them. Thinking without text (display omitted) travels through other
 * formats with a mark, so that it comes back as thinking and not as redacted_thinking. A signature that another family put on a
 * call or a text travels as a thinking block without text next to it, marked with what it belongs to.
 */
import type { Signature } from "#schemas/wire/conversation.ts"
import * as Signatures from "#src/wire/signatures.ts"

const omittedMark = "omitted-thinking:"
const marks = { call: "of-call:", text: "of-text:" } as const

/** The signature of a thinking block whose text was omitted, as hidden reasoning. */
export const ofOmitted = (signature: string): Signature => ({ family: "messages", value: omittedMark + signature })

/** The bare signature of omitted thinking; null when the value is the data of redacted thinking. */
export const omittedOf = (signature: Signature): string | null =>
  signature.family === "messages" && signature.value.startsWith(omittedMark) ? signature.value.slice(omittedMark.length) : null

/** The signature field of the block that carries a foreign signature of a call or a text. */
export const carry = (signature: Signature, of: keyof typeof marks): string =>
  Signatures.seal({ family: signature.family, value: marks[of] + signature.value }, "messages")

/** What a carried signature belongs to, null for an ordinary one. */
export const carried = (signature: Signature | null): { readonly of: keyof typeof marks; readonly signature: Signature } | null => {
  if (signature === null || signature.family === "messages") return null
  for (const mark of ["call", "text"] as const) {
    if (signature.value.startsWith(marks[mark])) return { of: mark, signature: { family: signature.family, value: signature.value.slice(marks[mark].length) } }
  }
  return null
}

/** True when the text of a signature field was sealed for a messages client by us, so that the vendor would refuse it. */
export const isForeign = (field: unknown): boolean => typeof field === "string" && Signatures.isSealed(field)
