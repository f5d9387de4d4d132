/** The sound of a form. */
import type { Sent } from "#src/wire/oneShot/OneShotCodec.ts"

/** Null without one; the bytes are the body's own. */
export const fileIn = ({ bytes, form }: Sent): { readonly sound: Buffer; readonly contentType: string | null } | null => {
  const part = form?.parts.find(({ filename, name }) => name === "file" && filename !== null)
  return part === undefined ? null : { sound: bytes.subarray(part.start, part.end), contentType: part.contentType }
}
