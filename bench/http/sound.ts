/** Sound of uploads and downloads. */

/** Bytes without a pattern, as sound is, and the same in every process. */
export const soundOf = (bytes: number): Buffer => {
  const sound = Buffer.allocUnsafe(bytes)
  let state = 1
  for (let at = 0; at + 4 <= bytes; at += 4) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    sound.writeInt32LE(state ^ (state >>> 13), at)
  }
  return sound
}
