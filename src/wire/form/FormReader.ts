/**
 * Reads multipart/form-data (RFC 7578) while it arrives: bytes go in as they come, parts go to where the caller wants them. It holds one
 * part's headers at most; what contents take is up to the sinks. Pure.
 */
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"

/** What stands before the content of a part. */
export interface PartHead {
  readonly name: string
  /** Null for a plain field. */
  readonly filename: string | null
  /** Null where the part does not say. */
  readonly contentType: string | null
  /** Its header lines as they came, without the empty line behind them. */
  readonly lines: Buffer
}

/** Where the content of one part goes. A refusal ends the form. */
export interface PartSink {
  /** Borrowed bytes of the content: copy them to keep them. */
  readonly push: (bytes: Uint8Array) => PublicError | null
  /** The content is complete. */
  readonly end: () => PublicError | null
}

/** Called when a part begins; the last one has ended by then. */
export type ReceivePart = (head: PartHead) => PartSink | PublicError

/** Bytes, but for the number of parts. */
export interface FormLimits {
  /** Parts of one form. */
  readonly parts: number
  /** Headers of one part. */
  readonly head: number
  /** The content of one plain field. */
  readonly field: number
  /** Headers and plain fields of the whole form. */
  readonly fields: number
  /** What stands before the first boundary, which nothing reads. */
  readonly preamble: number
}

export const limits: FormLimits = { parts: 256, head: 8 * 1024, field: 1024 * 1024, fields: 4 * 1024 * 1024, preamble: 64 * 1024 }

/** Blanks between a boundary and the end of its line. */
const mostBlanks = 256

const refusal = (message: string): PublicError => Errors.make("bad_request", message, { extra: { param: "body" } })

const noBoundary = refusal("The body does not begin with the boundary that its Content-Type names.")
const wasCut = refusal("The body ends in the middle of its form: it was cut, or its boundary is wrong.")
const endlessHead = refusal("A part of the form has no end of its headers.")
const nameless = refusal("A part of the form has no name: Content-Disposition must be form-data with a name.")

/** The boundary of a Content-Type; null for another type, or one without a boundary. */
export const boundaryOf = (contentType: string | undefined): string | null => {
  if (contentType === undefined || !/^\s*multipart\/form-data\s*(?:;|$)/i.test(contentType)) return null
  const found = /;\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s;,"]{1,70}))/i.exec(contentType)
  return found === null ? null : found[1] ?? found[2] ?? null
}

const CR = 0x0d
const LF = 0x0a
const DASH = 0x2d
const SPACE = 0x20
const TAB = 0x09
const HEAD_END = Buffer.from("\r\n\r\n")

/** Content, or what stands before the first boundary. */
const CONTENT = 0
/** Behind a boundary, in its line. */
const LINE = 1
const HEAD = 2
/** Behind the last boundary. */
const OVER = 3

export class FormReader {
  readonly #receive: ReceivePart
  readonly #limits: FormLimits
  /** A line break and a boundary: what ends a content. Its first byte occurs in it once. */
  readonly #delimiter: Buffer
  #state: typeof CONTENT | typeof LINE | typeof HEAD | typeof OVER = CONTENT
  /** Bytes of the delimiter that the last bytes of content were. The body begins like a line behind another one. */
  #matched = 2
  /** Null before the first boundary. */
  #sink: PartSink | null = null
  #head: PartHead | null = null
  #refusal: PublicError | null = null
  #parts = 0
  /** Of the content or of the preamble so far. */
  #length = 0
  /** Headers and plain fields so far. */
  #held = 0
  /** Bytes behind the boundary in its line, which are few: `-`, blanks, and a line break. */
  #line = ""
  #lines: Array<Buffer> = []
  #linesLength = 0

  /** `boundary`: as `boundaryOf` read it. */
  constructor(boundary: string, receive: ReceivePart, own: Partial<FormLimits> = {}) {
    this.#receive = receive
    this.#limits = { ...limits, ...own }
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, "latin1")
  }

  /** The last boundary has come: what follows is not read. */
  get isOver(): boolean {
    return this.#state === OVER
  }

  /** Reads borrowed bytes; says why the form is refused, and says the same to all that follow. */
  push(bytes: Uint8Array): PublicError | null {
    if (this.#refusal !== null) return this.#refusal
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (let at = 0; at < chunk.length && this.#state !== OVER && this.#refusal === null;) {
      at = this.#state === CONTENT ? this.#content(chunk, at) : this.#state === LINE ? this.#rest(chunk, at) : this.#headers(chunk, at)
    }
    return this.#refusal
  }

  /** There are no more bytes: says why what came is no form. */
  end(): PublicError | null {
    if (this.#state !== OVER) this.#refusal ??= this.#sink === null && this.#state === CONTENT ? noBoundary : wasCut
    return this.#refusal
  }

  /** Reads to the end of the content, or of the chunk; answers where to read on. */
  #content(chunk: Buffer, from: number): number {
    const delimiter = this.#delimiter
    let at = from
    if (this.#matched > 0) {
      while (at < chunk.length && this.#matched < delimiter.length && chunk[at] === delimiter[this.#matched]) {
        at++
        this.#matched++
      }
      if (this.#matched === delimiter.length) return this.#contentEnd(at)
      if (at === chunk.length) return at
      // It only looked like the end. The line break of the beginning is no content, and the preamble is nothing's.
      const matched = this.#matched
      this.#matched = 0
      if (!this.#keep(delimiter.subarray(0, matched))) return at
    }
    const end = chunk.indexOf(delimiter, at)
    if (end >= 0) return this.#keep(chunk.subarray(at, end)) ? this.#contentEnd(end + delimiter.length) : end
    const last = chunk.lastIndexOf(CR)
    const tail = last < at || chunk.length - last >= delimiter.length || chunk.compare(delimiter, 0, chunk.length - last, last) !== 0 ? chunk.length : last
    this.#matched = chunk.length - tail
    this.#keep(chunk.subarray(at, tail))
    return chunk.length
  }

  /** False when the form is refused. */
  #keep(content: Buffer): boolean {
    if (content.length === 0) return true
    this.#length += content.length
    const head = this.#head
    if (head === null || this.#sink === null) {
      if (this.#length > this.#limits.preamble) this.#refusal = noBoundary
    } else {
      if (head.filename === null) this.#count(content.length)
      if (head.filename === null && this.#length > this.#limits.field) {
        this.#refusal = refusal(`Field '${head.name.slice(0, 100)}' of the form is larger than ${this.#limits.field} bytes.`)
      }
      this.#refusal ??= this.#sink.push(content)
    }
    return this.#refusal === null
  }

  /** Counts bytes that most receivers hold in memory. */
  #count(bytes: number): void {
    this.#held += bytes
    if (this.#held > this.#limits.fields) this.#refusal ??= refusal(`The fields of the form are larger than ${this.#limits.fields} bytes together.`)
  }

  #contentEnd(at: number): number {
    this.#matched = 0
    this.#length = 0
    this.#state = LINE
    this.#line = ""
    const sink = this.#sink
    this.#sink = null
    this.#head = null
    this.#refusal = sink === null ? null : sink.end()
    return at
  }

  /** What stands behind a boundary: the end of its line, or the mark of the last one. */
  #rest(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] as number
      const line = this.#line
      if (line === "-") {
        if (byte === DASH) this.#state = OVER
        else this.#refusal = wasCut
        return at + 1
      }
      if (line.endsWith("\r")) {
        if (byte !== LF) {
          this.#refusal = wasCut
          return at
        }
        if (++this.#parts > this.#limits.parts) this.#refusal = refusal(`The form has more than ${this.#limits.parts} parts.`)
        this.#state = HEAD
        // The line break before the first header is that of the boundary.
        this.#lines = [HEAD_END.subarray(0, 2)]
        this.#linesLength = 2
        return at + 1
      }
      const isBlank = byte === SPACE || byte === TAB
      if (!(byte === CR || (isBlank && line.length < mostBlanks) || (byte === DASH && line === ""))) {
        this.#refusal = wasCut
        return at
      }
      this.#line += String.fromCharCode(byte)
    }
    return chunk.length
  }

  /** Keeps the headers until their end has come. */
  #headers(chunk: Buffer, from: number): number {
    const before = this.#linesLength
    // The end may have begun in what is kept.
    const more = Buffer.from(chunk.subarray(from, from + this.#limits.head + HEAD_END.length + 2))
    const kept = Buffer.concat([...this.#lines, more], before + more.length)
    const end = kept.indexOf(HEAD_END, Math.max(0, before - HEAD_END.length + 1))
    if (end > this.#limits.head || (end < 0 && kept.length > this.#limits.head + HEAD_END.length)) {
      this.#refusal = endlessHead
      return chunk.length
    }
    if (end < 0) {
      this.#lines = [kept]
      this.#linesLength = kept.length
      return chunk.length
    }
    this.#lines = []
    this.#begin(Buffer.from(kept.subarray(2, Math.max(2, end))))
    return from + end + HEAD_END.length - before
  }

  #begin(lines: Buffer): void {
    this.#count(lines.length)
    const head = headOf(lines)
    const sink = this.#refusal ?? (head === null ? nameless : this.#receive(head))
    if (!("push" in sink)) {
      this.#refusal = sink
      return
    }
    this.#head = head
    this.#sink = sink
    this.#state = CONTENT
  }
}

const headOf = (lines: Buffer): PartHead | null => {
  const text = lines.toString("utf8")
  const disposition = /(?:^|\r\n)content-disposition:\s*form-data\s*;([^\r\n]*)/i.exec(text)?.[1]
  if (disposition === undefined) return null
  const parameters = parametersOf(disposition)
  const name = decoded(parameters.get("name"))
  if (name === null) return null
  return { name, filename: extended(parameters.get("filename*")) ?? decoded(parameters.get("filename")), contentType: /(?:^|\r\n)content-type:\s*([^\r\n]*)/i.exec(text)?.[1]?.trim() ?? null, lines }
}

/** One parameter: what is within quotes is its value, so that a file's name holds no other one. */
const PARAMETER = /(?:^|[;\s])([^\s;="]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))/g

/** The parameters of a head by their names in small letters; the first of a name counts. */
const parametersOf = (disposition: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  for (const [, name = "", quoted, plain = ""] of disposition.matchAll(PARAMETER)) {
    const key = name.toLowerCase()
    if (!found.has(key)) found.set(key, quoted?.replace(/\\(.)/g, "$1") ?? plain)
  }
  return found
}

/** Browsers write a quotation mark in a name as %22. */
const decoded = (value: string | undefined): string | null =>
  value === undefined ? null : value.replace(/%22/g, "\"").replace(/%0D/gi, "\r").replace(/%0A/gi, "\n")

/** RFC 5987: `utf-8'<language>'<percent-encoded>`; null for another encoding, and for bytes that are none of it. */
const extended = (value: string | undefined): string | null => {
  const text = value === undefined ? undefined : /^utf-8'[^']*'(.*)$/i.exec(value)?.[1]
  if (text === undefined) return null
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
