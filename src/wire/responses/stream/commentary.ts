/**
 * Takes messages of the phase `commentary`, in which a model says what it is about to do, out of responses: whole ones, and streams, whose
 * later items move up. All other bytes stay. Pure.
 */
import * as EventData from "#src/wire/eventData.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import * as Edits from "#src/wire/json/edits.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Members from "#src/wire/json/members.ts"
import { SseScanner } from "#src/wire/stream/SseScanner.ts"

const PHASE = "commentary"
const sign = Buffer.from(`"${PHASE}"`)

/** A response without them, in the member of that name; null: the document is the response. The same bytes when it has none. */
const without = (document: Buffer, member: string | null): Buffer => {
  if (document.indexOf(sign) === -1) return document
  const parsed = Json.parseRecord(document.toString("utf8"))
  const response = parsed === null || member === null ? parsed : Json.recordAt(parsed, member)
  const items = Edits.each(response?.["output"], (item) => Json.isRecord(item) && item["phase"] === PHASE ? new Edits.Removal() : null)
  if (items === null) return document
  const inResponse = new Map([["output", items]])
  const edits = member === null ? inResponse : new Map([[member, inResponse]])
  return Edits.inBytes(document, edits) ?? Buffer.from(JSON.stringify(Edits.applied(parsed, edits)))
}

/** A whole response without them. */
export const ofResponse = (response: Uint8Array): Uint8Array => {
  const bytes = asBuffer(response)
  const left = without(bytes, null)
  return left === bytes ? response : left
}

const noBytes = Buffer.alloc(0)

/** One stream without them. Until the first one comes, chunks pass as they are. */
export class StreamWithoutCommentary {
  #scanner: SseScanner | null = null
  #kept: Array<Buffer> = []
  /** Places of the items that went, in their order. */
  readonly #gone: Array<number> = []

  /** What is left of whole events, empty for nothing; null when there is no room for an event. */
  push(chunk: Uint8Array): Uint8Array | null {
    const bytes = asBuffer(chunk)
    if (this.#scanner === null) {
      if (bytes.indexOf(sign) === -1) return chunk
      this.#scanner = new SseScanner({ event: (within, start, end) => this.#take(within.subarray(start, end)) })
    }
    return this.#scanner.push(bytes) ? this.#taken() : null
  }

  end(): Uint8Array {
    this.#scanner?.flush()
    return this.#taken()
  }

  close(): void {
    this.#scanner?.close()
  }

  #taken(): Buffer {
    const kept = this.#kept
    if (kept.length === 0) return noBytes
    this.#kept = []
    return Buffer.concat(kept)
  }

  /** The event is borrowed: what is kept of it is copied. */
  #take(event: Buffer): void {
    const data = EventData.oneLine(event, 0, event.length)
    const members = data === null ? null : Members.of(data)
    if (data === null || members === null) return this.#keep(event)
    const index = members.get("output_index")
    const place = index === undefined ? NaN : Number(index.toString("latin1"))
    if (Members.text(members.get("type")) === "response.output_item.added" && isCommentary(members.get("item")) && Number.isInteger(place)) this.#gone.push(place)
    if (this.#gone.includes(place)) return
    const before = this.#gone.filter((one) => one < place).length
    if (index !== undefined && before > 0) return this.#keep(replaced(event, index, Buffer.from(String(place - before))))
    this.#keep(members.has("response") ? replaced(event, data, without(data, "response")) : event)
  }

  #keep(event: Buffer): void {
    this.#kept.push(Buffer.from(event))
  }
}

const isCommentary = (item: Buffer | undefined): boolean => item !== undefined && Members.text(Members.of(item)?.get("phase")) === PHASE

/** `part`: a view of some of the bytes. */
const replaced = (bytes: Buffer, part: Buffer, by: Buffer): Buffer => {
  const start = part.byteOffset - bytes.byteOffset
  return Buffer.concat([bytes.subarray(0, start), by, bytes.subarray(start + part.length)])
}
