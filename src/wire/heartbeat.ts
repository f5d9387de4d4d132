/** What a heartbeat says of the stream it stands in: read once, from the first events that the client was given. */
import type { Identity } from "#actors/request/ports/Face.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import * as Json from "#src/wire/json/json.ts"
import { dataOf, SseScanner } from "#src/wire/stream/SseScanner.ts"
import type { ClientCodec } from "#src/wire/WireFormat.ts"

/** Reads the identity of a stream from a chunk of whole events; null when none of them names it. */
export const identityIn = (codec: ClientCodec, chunk: Uint8Array): Identity | null => {
  const { identityOf } = codec
  if (identityOf === undefined) return null
  const bytes = asBuffer(chunk)
  let found: Identity | null = null
  const read = (text: string | null): void => {
    const frame = text === null ? null : Json.parseRecord(text)
    if (frame !== null) found = identityOf(frame)
  }
  if (codec.streamType === "application/x-ndjson") {
    const end = bytes.indexOf("\n")
    read(bytes.toString("utf8", 0, end === -1 ? bytes.length : end))
    return found
  }
  const scanner = new SseScanner({ event: (event, start, end) => { if (found === null) read(dataOf(event, start, end)) } })
  scanner.push(bytes)
  scanner.close()
  return found
}

/** The comment line of clients that read comments. */
export const comment = (now: Date): string => `: keepalive ${now.toISOString()}\n\n`

/** A blank line: it keeps the connection busy, names nothing, and every parser of server-sent events skips it. */
export const blank = "\n\n"

/** Id, time and model that all chunks of a chat or text completion share; null for a frame without an id, like a vendor's report on the prompt. */
export const chunkIdentity = ({ created, id, model, object }: Readonly<Record<string, unknown>>): Identity | null =>
  typeof id === "string" && id !== "" ? { id, object, created, model } : null
