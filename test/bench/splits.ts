/** Deterministic ways to cut bytes in pieces: what arrives must not depend on where the network cuts. */

const nextSeed = (seed: number): number => (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0

/** `bytes` in random pieces of 1 to `largest` bytes. */
export const randomPieces = (bytes: Buffer, seed: number, largest: number): ReadonlyArray<Buffer> => {
  const pieces: Array<Buffer> = []
  let state = nextSeed(seed)
  for (let at = 0; at < bytes.length;) {
    state = nextSeed(state)
    const length = 1 + ((state >>> 8) % largest)
    pieces.push(bytes.subarray(at, at + length))
    at += length
  }
  return pieces
}
