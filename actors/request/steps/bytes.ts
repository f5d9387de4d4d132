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
