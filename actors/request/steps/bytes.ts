const none = new Uint8Array(0)

/** The chunks as one array; the only chunk is handed on as it is. */
export const joinBytes = (chunks: ReadonlyArray<Uint8Array>, total: number): Uint8Array => {
  const first = chunks[0]
  if (first === undefined) return none
  if (chunks.length === 1) return first
  const joined = new Uint8Array(total)
  let at = 0
  for (const chunk of chunks) {
    joined.set(chunk, at)
    at += chunk.length
  }
  return joined
}

/** Without a byte order mark before an object, which a parser may ignore (RFC 8259, section 8.1), as clients and servers of vendors do. */
export const unmarked = (body: Uint8Array): Uint8Array =>
  body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf && body[3] === 0x7b ? body.subarray(3) : body
