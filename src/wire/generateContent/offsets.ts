/** Places in a text, by characters (UTF-16 code units) and by bytes of UTF-8. A place is found without reading all before it, since a text may have thousands of citations. */

/** Between two places that are known. */
const stride = 1_024

interface Known {
  readonly characters: number
  readonly bytes: number
}

const start: Known = { characters: 0, bytes: 0 }

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

/** The character at each byte; behind the end it is the end. */
export const characterAt = (text: string): ((byte: number) => number) => {
  const bytes = Buffer.from(text)
  if (bytes.length === text.length) return (byte) => Math.min(byte, text.length)
  const known = [start]
  for (let last = start, next = stride; next < bytes.length; next += stride) {
    let at = next
    while (isContinuation(bytes[at])) at--
    last = { bytes: at, characters: last.characters + bytes.toString("utf8", last.bytes, at).length }
    known.push(last)
  }
  return (byte) => {
    const before = known[Math.min(Math.floor(byte / stride), known.length - 1)] ?? start
    return before.characters + bytes.toString("utf8", before.bytes, Math.min(byte, bytes.length)).length
  }
}

/** The byte at each character; behind the end it is the end. */
export const byteAt = (text: string): ((character: number) => number) => {
  if (Buffer.byteLength(text) === text.length) return (character) => text.slice(0, character).length
  const known = [start]
  for (let last = start, next = stride; next < text.length; next += stride) {
    const at = isLowSurrogate(text.charCodeAt(next)) ? next - 1 : next
    last = { characters: at, bytes: last.bytes + Buffer.byteLength(text.slice(last.characters, at)) }
    known.push(last)
  }
  return (character) => {
    const before = known[Math.min(Math.floor(character / stride), known.length - 1)] ?? start
    return before.bytes + Buffer.byteLength(text.slice(before.characters, character))
  }
}
