/**
 * The proof of a reasoning item: its encrypted content is worth something only under the id of its item (the vendor compares
 * them), and no other format has a place for that id, so both travel as one signature, `<item id>|<encrypted content>`.
 */
import type { Signature } from "#schemas/wire/conversation.ts"
import { open, seal } from "#src/wire/signatures.ts"

/** Item ids of the hidden reasoning items that carry another family's signature of a call or of a text. */
export const callCarrier = "rs_call_"
export const textCarrier = "rs_text_"

/** The signature of an item of an upstream of this format. */
export const pack = (id: string | null, encrypted: string): Signature =>
  ({ family: "responses", value: id === null || id === "" ? encrypted : `${id}|${encrypted}` })

/** Item id (null when it was not known) and encrypted content. */
export const unpack = (value: string): { readonly id: string | null; readonly encrypted: string } => {
  const bar = value.indexOf("|")
  return bar === -1 ? { id: null, encrypted: value } : { id: value.slice(0, bar), encrypted: value.slice(bar + 1) }
}

/** What a client of this format gave back as `encrypted_content` of the item `id`. */
export const opened = (id: string | null, encrypted: string): Signature | null => {
  const signature = open(encrypted, "responses")
  return signature === null || signature.family !== "responses" || signature.value.includes("|") ? signature : pack(id, signature.value)
}

/** The `encrypted_content` that a client of this format is given. */
export const sealed = (signature: Signature): string =>
  signature.family === "responses" ? unpack(signature.value).encrypted : seal(signature, "responses")
