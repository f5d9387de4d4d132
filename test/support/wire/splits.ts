/** Ways to cut a byte sequence: what a decoder says must not depend on them. */

/** Every cut into two pieces. */
export function* everyCut(bytes: Buffer): Generator<ReadonlyArray<Buffer>> {
  for (let at = 0; at <= bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)]
}

/** One byte at a time. */
export const byBytes = (bytes: Buffer): ReadonlyArray<Buffer> => Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))

/** A reproducible random cut into pieces of 0 to `longest` bytes. */
export const randomCut = (bytes: Buffer, seed: number, longest = 40): ReadonlyArray<Buffer> => {
  let state = (seed * 2654435761) >>> 0 || 1
  const pieces: Array<Buffer> = []
  let at = 0
  while (at < bytes.length) {
    state ^= state << 13
    state >>>= 0
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    const size = state % (longest + 1)
    pieces.push(bytes.subarray(at, at + size))
    at += size
  }
  return pieces
}
