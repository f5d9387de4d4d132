/**
 * The whole of an output of which a shorter form is sent, for an operator to read: its id, which the shorter form names, and as much of it
 * as is kept. The id follows from the text, so that an output is said the same in each turn of a conversation. Pure.
 */
import type { RtkConfig } from "#schemas/words/Compression.ts"
import * as Masking from "#src/compression/masking.ts"

export interface RawOutput {
  readonly id: string
  /** Its beginning, where it is longer than is kept. */
  readonly text: string
  /** Of the whole. */
  readonly bytes: number
  readonly cut: boolean
}

/** Names a text, the same for the same text, in 20 characters of base64url. */
export type NameOf = (text: string) => string

export const isMarker = (line: string): boolean => /^\[Whole output: [\w-]{20}\]$/.test(line)

/** Whole characters of the first bytes. */
const beginning = (bytes: Buffer, most: number): string => {
  let end = most
  while (end > 0 && ((bytes[end] as number) & 0xC0) === 0x80) end--
  return bytes.toString("utf8", 0, end)
}

export interface Told {
  readonly text: string
  readonly raw: RawOutput
}

/** The shorter form with a line that names the whole; null = the whole is not kept. It may be longer than the whole is. */
export const told = (whole: string, short: string, { rawOutputMaxBytes, rawOutputRetention }: RtkConfig, nameOf: NameOf): Told | null => {
  if (rawOutputRetention === "never" || (rawOutputRetention === "failures" && !whole.split("\n").some(Masking.isErrorLine))) return null
  const id = nameOf(whole)
  const bytes = Buffer.from(whole)
  const cut = bytes.length > rawOutputMaxBytes
  let end = short.length
  // An empty line before the marker would be one too many the next time.
  while (end > 0 && short[end - 1] === "\n") end--
  return { text: `${short.slice(0, end)}\n[Whole output: ${id}]`, raw: { id, text: cut ? beginning(bytes, rawOutputMaxBytes) : whole, bytes: bytes.length, cut } }
}
