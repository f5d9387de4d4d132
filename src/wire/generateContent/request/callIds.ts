/** Ids for calls that came without one, and the signature of a part. */
import type { Signature } from "#schemas/wire/conversation.ts"

/** Longest response id that still fits the 40 characters that chat upstreams allow for a call's id. */
const longestResponseId = 26

/**
 * The same bytes give the same id, whatever their segments. It holds the response's id, so that calls of several turns do not share
 * one; without a response id, a hash of the call stands for it.
 */
export const callIdOf = (responseId: string, choice: number, call: number, content: string): string => {
  const plain = responseId.replace(/[^A-Za-z0-9_-]/g, "")
  const stem = plain !== "" && plain.length <= longestResponseId ? plain : hashOf(responseId + content)
  return `call_${stem}_${choice === 0 ? "" : `${choice}_`}${call}`
}

/** FNV-1a over UTF-16 units, twice with different offsets: 13 base-36 digits at most. */
const hashOf = (text: string): string => {
  let a = 0x811c9dc5
  let b = 0xc9dc5118
  for (let i = 0; i < text.length; i++) {
    a = Math.imul(a ^ text.charCodeAt(i), 0x01000193)
    b = Math.imul(b ^ text.charCodeAt(i), 0x01000193)
  }
  return (a >>> 0).toString(36) + (b >>> 0).toString(36)
}

export const signatureOf = (part: Readonly<Record<string, unknown>>): Signature | null => {
  const value = part["thoughtSignature"]
  return typeof value === "string" && value !== "" ? { family: "generateContent", value } : null
}
