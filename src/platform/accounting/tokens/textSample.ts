/** The part of a text whose tokens are counted, and how many times as many the whole has. */

/** Longest text counted as a whole, UTF-16 units; of a longer one four pieces of a quarter each are counted. */
export const SAMPLE_LENGTH = 8192

const PIECES = 4
/** TextMeter pads what it did not keep with blanks: they stand for text, not for themselves. */
const PADDING_LENGTH = 1024

/** What is counted, and by how much the count is multiplied. */
export const sample = (text: string): { readonly text: string; readonly factor: number } => {
  const kept = text.trimEnd()
  const body = kept.length > 0 && text.length - kept.length > PADDING_LENGTH ? kept : text
  if (body.length <= SAMPLE_LENGTH) return { text: body, factor: text.length / body.length }
  const length = SAMPLE_LENGTH / PIECES
  const gap = (body.length - length) / (PIECES - 1)
  let pieces = ""
  for (let i = 0; i < PIECES; i++) {
    const from = Math.round(i * gap)
    pieces += body.slice(from, from + length)
  }
  return { text: pieces, factor: text.length / pieces.length }
}
