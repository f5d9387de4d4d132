/** Videos: an MP4 file (ISO 14496-12) with one track of PNG pictures, one a second, whose colour is the prompt's. The same bytes for the same prompt. */
import { crc32 } from "node:zlib"
import { pictureOf } from "#src/simulator/formats/images.ts"

const SIDE = 16

const u16 = (...values: ReadonlyArray<number>): Buffer => {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [i, value] of values.entries()) bytes.writeUInt16BE(value & 0xffff, i * 2)
  return bytes
}

const u32 = (...values: ReadonlyArray<number>): Buffer => {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [i, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, i * 4)
  return bytes
}

const ascii = (text: string): Buffer => Buffer.from(text, "latin1")

const box = (type: string, ...parts: ReadonlyArray<Buffer>): Buffer => {
  const payload = Buffer.concat(parts)
  return Buffer.concat([u32(payload.length + 8), ascii(type), payload])
}

const FIXED_ONE = 0x10000
const MATRIX = u32(FIXED_ONE, 0, 0, 0, FIXED_ONE, 0, 0, 0, 0x40000000)
const ENGLISH = 0x55c4
const PIXELS_PER_INCH = 0x480000

/** What stands for a prompt where only a short id travels. */
export const markOf = (prompt: string): string => crc32(prompt).toString(16).padStart(8, "0")

/** `seconds`: whole, at least 1. */
export const videoOf = (prompt: string, seconds: number): Buffer => {
  const frame = pictureOf(prompt, `${SIDE}x${SIDE}`)
  const head = box("ftyp", ascii("isom"), u32(0x200), ascii("isomiso2mp41"))
  const data = box("mdat", ...Array.from({ length: seconds }, () => frame))
  const entry = box(
    "png ", Buffer.alloc(6), u16(1), Buffer.alloc(16), u16(SIDE, SIDE), u32(PIXELS_PER_INCH, PIXELS_PER_INCH, 0), u16(1), Buffer.alloc(32), u16(24, 0xffff)
  )
  const table = box(
    "stbl", box("stsd", u32(0, 1), entry), box("stts", u32(0, 1, seconds, 1)), box("stsc", u32(0, 1, 1, seconds, 1)), box("stsz", u32(0, frame.length, seconds)),
    box("stco", u32(0, 1, head.length + 8))
  )
  const media = box(
    "minf", box("vmhd", u32(1), Buffer.alloc(8)), box("dinf", box("dref", u32(0, 1), box("url ", u32(1)))), table
  )
  const track = box(
    "trak", box("tkhd", u32(7, 0, 0, 1, 0, seconds), Buffer.alloc(16), MATRIX, u32(SIDE * FIXED_ONE, SIDE * FIXED_ONE)),
    box("mdia", box("mdhd", u32(0, 0, 0, 1, seconds), u16(ENGLISH, 0)), box("hdlr", u32(0, 0), ascii("vide"), Buffer.alloc(12), ascii("video\0")), media)
  )
  const movie = box("moov", box("mvhd", u32(0, 0, 0, 1, seconds, FIXED_ONE), u16(0x100), Buffer.alloc(10), MATRIX, Buffer.alloc(24), u32(2)), track)
  return Buffer.concat([head, data, movie])
}
