/** Sound for tests, and the form that carries it. */
import { toneOf } from "#src/simulator/formats/audio.ts"

export const tone = toneOf("a song")
/** Its seconds: a sample a byte, behind 44 bytes of a header. */
export const toneSeconds = (tone.length - 44) / 8_000

/** A form with it as a client writes it; null leaves a field out. */
export const formOf = (fields: Readonly<Record<string, string | null>>, file: Buffer | null = tone, type = "audio/wav", boundary = "----b0undary", name = "file"): Buffer => Buffer.concat([
  ...Object.entries(fields).flatMap(([name, value]) => value === null ? [] : [Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)]),
  ...(file === null ? [] : [Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="song.wav"\r\nContent-Type: ${type}\r\n\r\n`), file, Buffer.from("\r\n")]),
  Buffer.from(`--${boundary}--\r\n`)
])
