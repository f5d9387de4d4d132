/** The last frame of a stream whose upstream left it out though its answer is whole: clients wait for it. */
export const withTerminator = (rest: Uint8Array | null, frame: string): Uint8Array => {
  if (rest === null || rest.length === 0) return Buffer.from(frame)
  // A last event may come without its blank line.
  const gap = rest[rest.length - 1] === 0x0a ? (rest[rest.length - 2] === 0x0a || rest[rest.length - 2] === 0x0d ? "" : "\n") : "\n\n"
  return Buffer.concat([rest, Buffer.from(gap + frame)])
}
