/** Takes the first of these chunks out of the list, joined as long as they are at most `most` bytes together. There is one at least. */
export const takeFirst = (chunks: Array<Uint8Array>, most: number): Uint8Array => {
  let [count, bytes] = [1, chunks[0]!.byteLength]
  while (count < chunks.length && bytes + chunks[count]!.byteLength <= most) bytes += chunks[count++]!.byteLength
  const first = chunks.splice(0, count)
  return first.length === 1 ? first[0]! : Buffer.concat(first, bytes)
}
