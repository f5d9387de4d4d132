/** Sound for tests, and the form that carries it. */
import { toneOf } from "#src/simulator/formats/audio.ts"

export const tone = toneOf("a song")

/** A form with it as a client writes it; null leaves a field out. */
export const formOf = (fields: Readonly<Record<string, string | null>>, file: Buffer | null = tone, type = "audio/wav", boundary = "----b0undary"): Buffer => Buffer.concat([
  ...Object.entries(fields).flatMap(([name, value]) => value === null ? [] : [Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)]),
  ...(file === null ? [] : [Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="song.wav"\r\nContent-Type: ${type}\r\n\r\n`), file, Buffer.from("\r\n")]),
  Buffer.from(`--${boundary}--\r\n`)
])
