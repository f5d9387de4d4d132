/**
 * Bodies that travel compressed (Content-Encoding). Those of requests are decompressed in zlib's own threads, and no further than the
 * limit of a body: a bomb costs what an honest body of that size costs. Answers are compressed there, too.
 */
import * as Zlib from "node:zlib"
import type { BodyFailure } from "./Exchange.ts"

type Done = (error: Error | null, bytes: Uint8Array) => void
type Decompress = (bytes: Uint8Array, options: { readonly maxOutputLength: number; readonly chunkSize: number }, done: Done) => void

const codings: Readonly<Record<string, Decompress>> = {
  gzip: Zlib.gunzip,
  "x-gzip": Zlib.gunzip,
  deflate: Zlib.inflate,
  br: Zlib.brotliDecompress,
  zstd: Zlib.zstdDecompress
}

/** What a client may send, for its error message. */
export const accepted = "gzip, deflate, br, zstd or identity"

/** Codings in one header: each is a pass over the whole body. */
const mostCodings = 3
/** Bytes that are decompressed at a time. */
const chunkBytes = 256 * 1024

/** The codings of a Content-Encoding header in the order of their application; null when one of them is not accepted. */
export const parse = (header: string): ReadonlyArray<Decompress> | null => {
  const names = header.split(",").map((name) => name.trim().toLowerCase()).filter((name) => name !== "" && name !== "identity")
  if (names.length > mostCodings) return null
  const found: Array<Decompress> = []
  for (const name of names) {
    const coding = Object.hasOwn(codings, name) ? codings[name] : undefined
    if (coding === undefined) return null
    found.push(coding)
  }
  return found
}

/** Calls `done` once, later: the plain bytes, or why there are none. `limit` in bytes, for what comes out of each coding. */
export const decompress = (
  bytes: Uint8Array, applied: ReadonlyArray<Decompress>, limit: number, done: (body: Uint8Array | null, failure: BodyFailure | null) => void
): void => {
  const coding = applied.at(-1)
  if (coding === undefined) return done(bytes, null)
  // zlib takes no limit of 0, and nothing decompresses to less.
  coding(bytes, { maxOutputLength: Math.max(1, limit), chunkSize: Math.min(chunkBytes, Math.max(64, limit)) }, (error, plain) => {
    if (error === null) decompress(plain, applied.slice(0, -1), limit, done)
    else done(null, "code" in error && error.code === "ERR_BUFFER_TOO_LARGE" ? "too-large" : "undecodable")
  })
}

/** True when an Accept-Encoding header takes a coding. */
export const takes = (header: string | undefined, coding: string): boolean =>
  (header ?? "").split(",").some((part) => {
    const [name = "", weight] = part.split(/;\s*q=/)
    return name.trim() === coding && Number(weight ?? 1) > 0
  })

/** Answers below this size, bytes, gain nothing worth the work. */
export const COMPRESSED_FROM = 8 * 1024

const compressors = {
  br: (bytes: Uint8Array, done: Done) => Zlib.brotliCompress(bytes, { params: { [Zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }, done),
  gzip: (bytes: Uint8Array, done: Done) => Zlib.gzip(bytes, { level: 5 }, done)
}
export type Coding = keyof typeof compressors

/** The coding that an answer is sent in; null = as it is. */
export const wanted = (header: string | undefined): Coding | null => takes(header, "br") ? "br" : takes(header, "gzip") ? "gzip" : null

/** Calls `done` once, later; null when it could not be compressed. */
export const compress = (bytes: Uint8Array, coding: Coding, done: (compressed: Uint8Array | null) => void): void =>
  compressors[coding](bytes, (error, compressed) => done(error === null ? compressed : null))
