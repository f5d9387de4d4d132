/**
 * The journal's records and their frames.
 *
 * Frame: byte 0 = 0xA7, bytes 1-3 payload length (LE), bytes 4-7 CRC-32 of the payload (LE), then the payload: a msgpack
 * array `[kind, ...fields]`. Fields are positional; a new field is only ever appended, and read with a default.
 */
import { crc32 } from "node:zlib"
import { Packr } from "msgpackr"
import type { AttemptStart, LedgerRow } from "#schemas/records/LedgerRow.ts"

/** First record of a segment. */
export interface Header {
  readonly _tag: "Header"
  readonly version: number
  readonly nodeId: string
  readonly seq: number
  readonly createdAt: number
}
/** An attempt is about to be sent. A repeated start of the same attempt is the same start, carried to a newer segment. */
export interface Start {
  readonly _tag: "Start"
  readonly start: AttemptStart
}
/** An attempt is over. `ordinal` counts the settles of one writer from 1. */
export interface Settle {
  readonly _tag: "Settle"
  readonly ordinal: number
  readonly row: LedgerRow
}
/** Every settle up to and including `ordinal` is in the record store. */
export interface Ack {
  readonly _tag: "Ack"
  readonly ordinal: number
}
export type JournalRecord = Header | Start | Settle | Ack

/** A stretch of bytes: a record, or damage. `tail`: no valid frame follows, so the last write was torn. */
export type Frame =
  | { readonly _tag: "Record"; readonly record: JournalRecord; readonly offset: number; readonly end: number }
  | { readonly _tag: "Damage"; readonly offset: number; readonly end: number; readonly tail: boolean }

export const FORMAT_VERSION = 1
export const FRAME_HEADER_BYTES = 8
/** Longest payload that is written or believed, bytes. */
export const MAX_PAYLOAD_BYTES = 131_072
/** Longest string kept per field, UTF-16 units: a client must not be able to fill the journal with a model name. */
export const MAX_FIELD_LENGTH = 1024

const MARKER = 0xa7
const HEADER = 0
const START = 1
const SETTLE = 2
const ACK = 3

const packr = new Packr({ useRecords: false })

const clip = (text: string): string => text.length > MAX_FIELD_LENGTH ? text.slice(0, MAX_FIELD_LENGTH) : text
const clipNull = (text: string | null): string | null => text === null ? null : clip(text)

export const encodeHeader = (header: Omit<Header, "_tag">): Uint8Array =>
  packr.pack([HEADER, header.version, header.nodeId, header.seq, header.createdAt])

export const encodeStart = (s: AttemptStart): Uint8Array =>
  packr.pack([
    START, clip(s.attemptId), clip(s.requestId), s.attempt, s.startedAt, clip(s.nodeId), clip(s.endpoint), clip(s.requestedModel),
    clip(s.provider), clip(s.model), clipNull(s.connectionId), clipNull(s.apiKeyId), clipNull(s.apiKeyName), clipNull(s.combo),
    clipNull(s.sessionTag), clip(s.sourceFormat), clip(s.targetFormat), s.stream
  ])

export const encodeSettle = (ordinal: number, r: LedgerRow): Uint8Array =>
  packr.pack([
    SETTLE, ordinal, clip(r.attemptId), clip(r.requestId), r.attempt, r.startedAt, clip(r.nodeId), clip(r.endpoint),
    clip(r.requestedModel), clip(r.provider), clip(r.model), clipNull(r.connectionId), clipNull(r.apiKeyId), clipNull(r.apiKeyName),
    clipNull(r.combo), clipNull(r.sessionTag), clip(r.sourceFormat), clip(r.targetFormat), r.stream,
    r.final, r.settledAt, r.outcome, r.upstreamStatus, r.status, clipNull(r.errorCode), clipNull(r.phase), r.tokensIn, r.tokensOut,
    r.tokensCacheRead, r.tokensCacheCreation, r.tokensReasoning, r.estimated, r.costUsd, r.latencyMs, r.ttftMs
  ])

export const encodeAck = (ordinal: number): Uint8Array => packr.pack([ACK, ordinal])

/** Fields of a start from position `i` on; the checksum vouches for their types. */
const startAt = (f: ReadonlyArray<never>, i: number): AttemptStart => ({
  attemptId: f[i]!, requestId: f[i + 1]!, attempt: f[i + 2]!, startedAt: f[i + 3]!, nodeId: f[i + 4]!, endpoint: f[i + 5]!,
  requestedModel: f[i + 6]!, provider: f[i + 7]!, model: f[i + 8]!, connectionId: f[i + 9]!, apiKeyId: f[i + 10]!,
  apiKeyName: f[i + 11]!, combo: f[i + 12]!, sessionTag: f[i + 13]!, sourceFormat: f[i + 14]!, targetFormat: f[i + 15]!,
  stream: f[i + 16]!
})

/** The record of a payload, or null when its kind is not ours. */
export const decode = (payload: Uint8Array): JournalRecord | null => {
  const f: ReadonlyArray<never> = packr.unpack(payload)
  if (!Array.isArray(f)) return null
  const kind: number = f[0]!
  switch (kind) {
    case HEADER:
      return { _tag: "Header", version: f[1]!, nodeId: f[2]!, seq: f[3]!, createdAt: f[4]! }
    case START:
      return { _tag: "Start", start: startAt(f, 1) }
    case SETTLE:
      return {
        _tag: "Settle",
        ordinal: f[1]!,
        row: {
          ...startAt(f, 2),
          final: f[19]!, settledAt: f[20]!, outcome: f[21]!, upstreamStatus: f[22]!, status: f[23]!, errorCode: f[24]!, phase: f[25]!,
          tokensIn: f[26]!, tokensOut: f[27]!, tokensCacheRead: f[28]!, tokensCacheCreation: f[29]!, tokensReasoning: f[30]!,
          estimated: f[31]!, costUsd: f[32]!, latencyMs: f[33]!, ttftMs: f[34]!
        }
      }
    case ACK:
      return { _tag: "Ack", ordinal: f[1]! }
    default:
      return null
  }
}

/** A growing byte buffer of frames, reused from write to write. */
export class FrameBuffer {
  bytes: Buffer = Buffer.allocUnsafe(65_536)
  length = 0

  /** Appends one frame and answers its offset in the buffer. */
  add(payload: Uint8Array): number {
    const offset = this.length
    const size = payload.length
    if (offset + FRAME_HEADER_BYTES + size > this.bytes.length) this.#grow(offset + FRAME_HEADER_BYTES + size)
    const bytes = this.bytes
    bytes[offset] = MARKER
    bytes[offset + 1] = size & 0xff
    bytes[offset + 2] = (size >>> 8) & 0xff
    bytes[offset + 3] = (size >>> 16) & 0xff
    const sum = crc32(payload)
    bytes[offset + 4] = sum & 0xff
    bytes[offset + 5] = (sum >>> 8) & 0xff
    bytes[offset + 6] = (sum >>> 16) & 0xff
    bytes[offset + 7] = sum >>> 24
    bytes.set(payload, offset + FRAME_HEADER_BYTES)
    this.length = offset + FRAME_HEADER_BYTES + size
    return offset
  }

  clear(): void {
    this.length = 0
  }

  #grow(needed: number): void {
    const bytes = Buffer.allocUnsafe(Math.max(needed, this.bytes.length * 2))
    bytes.set(this.bytes.subarray(0, this.length))
    this.bytes = bytes
  }
}

/** The payload of the frame at `offset`, or null when there is no whole, sound frame. */
const payloadAt = (bytes: Uint8Array, offset: number): Uint8Array | null => {
  if (offset + FRAME_HEADER_BYTES > bytes.length || bytes[offset] !== MARKER) return null
  const size = bytes[offset + 1]! | (bytes[offset + 2]! << 8) | (bytes[offset + 3]! << 16)
  const end = offset + FRAME_HEADER_BYTES + size
  if (size === 0 || size > MAX_PAYLOAD_BYTES || end > bytes.length) return null
  const expected = (bytes[offset + 4]! | (bytes[offset + 5]! << 8) | (bytes[offset + 6]! << 16) | (bytes[offset + 7]! << 24)) >>> 0
  const payload = bytes.subarray(offset + FRAME_HEADER_BYTES, end)
  return crc32(payload) === expected ? payload : null
}

const recordOf = (payload: Uint8Array): JournalRecord | null => {
  try {
    return decode(payload)
  } catch {
    return null
  }
}

/** Walks the frames of a segment; damage is passed over to the next sound frame and reported once per stretch. */
export function* frames(bytes: Uint8Array): Generator<Frame, void> {
  let offset = 0
  while (offset < bytes.length) {
    const payload = payloadAt(bytes, offset)
    const record = payload === null ? null : recordOf(payload)
    if (payload !== null && record !== null) {
      const end = offset + FRAME_HEADER_BYTES + payload.length
      yield { _tag: "Record", record, offset, end }
      offset = end
      continue
    }
    let next = offset + 1
    while (next < bytes.length) {
      next = bytes.indexOf(MARKER, next)
      if (next === -1) next = bytes.length
      else if (payloadAt(bytes, next) !== null) break
      else next += 1
    }
    yield { _tag: "Damage", offset, end: next, tail: next >= bytes.length }
    offset = next
  }
}
