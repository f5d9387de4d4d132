/** The usage chunk of a stream whose upstream counted nothing: it stands between the last chunk and the terminator. */
import * as Json from "#src/wire/json/json.ts"
import { dataOf } from "#src/wire/stream/SseScanner.ts"

const terminator = Buffer.from("data: [DONE]\n\n")

/** What a chunk has in common with the others of its stream. */
export const headOf = ({ created, id, model, object }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => ({ id, object, created, model })

/** `head`: of another chunk; `usage`: in the format's words. */
export const chunkOf = (head: Readonly<Record<string, unknown>>, usage: object): string =>
  `data: ${JSON.stringify({ ...head, choices: [], usage })}\n\n`

/** A whole stream with that chunk; unchanged when it does not end as the format's streams do. */
export const added = (stream: Buffer, usage: object): Buffer => {
  const end = stream.length - terminator.length
  if (end < 3 || !stream.subarray(end).equals(terminator)) return stream
  const before = stream.lastIndexOf("\n\n", end - 3)
  const data = dataOf(stream, before === -1 ? 0 : before + 2, end)
  const frame = data === null ? null : Json.parseRecord(data)
  return frame === null ? stream : Buffer.concat([stream.subarray(0, end), Buffer.from(chunkOf(headOf(frame), usage)), terminator])
}
