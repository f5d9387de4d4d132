/** How values lie in Redis: msgpack, in one place, so that every adapter and every release reads the same bytes. */
import { Packr } from "msgpackr"

// Plain maps: a record extension would need the structures of the writer.
const packr = new Packr({ useRecords: false })

export const pack = (value: unknown): Buffer => packr.pack(value)

/** Throws on bytes that `pack` did not write; validate what comes out, another release may have written it. */
export const unpackUnsafe = (bytes: Uint8Array): unknown => packr.unpack(bytes) as unknown
