/**
 * A form of type multipart/form-data (RFC 7578) that was received: its fields in memory, its files there or elsewhere, and how it is
 * written again, which copies no file that is elsewhere. Pure.
 */
import { type Body, isStored, type Piece, Pieces } from "#actors/request/ports/Body.ts"
import { PublicError } from "#schemas/errors.ts"
import * as FormReader from "./FormReader.ts"

/** Reads a content while it passes. */
export interface Meter {
  /** Borrowed bytes. */
  readonly push: (bytes: Uint8Array) => void
  /** What it found, once the content is complete; null when it found nothing. */
  readonly result: () => number | null
}

export interface FormPart extends FormReader.PartHead {
  /** In memory, where the part is a plain field. */
  readonly content: Piece
  /** What the meter of the part found; null without one. */
  readonly measured: number | null
}

export interface Form {
  readonly boundary: string
  readonly parts: ReadonlyArray<FormPart>
  /** SHA-256 of what it says, whatever stands between its parts, hex; null when it was not asked for. */
  readonly digest: string | null
  /** Bytes of all contents. */
  readonly length: number
  /** Keeps its files until the answer is called; null when they are gone. */
  readonly hold: () => (() => void) | null
}

const inMemory = (): (() => void) => () => undefined

/** Reads a form that is in memory whole; its contents are views of `body`. */
export const parse = (body: Buffer, boundary: string): Form | PublicError => {
  const parts: Array<FormPart> = []
  const reader = new FormReader.FormReader(boundary, (head) => {
    const pieces: Array<Uint8Array> = []
    return {
      push: (bytes) => {
        pieces.push(bytes)
        return null
      },
      end: () => {
        parts.push({ ...head, content: pieces.length === 1 ? pieces[0] as Uint8Array : Buffer.concat(pieces), measured: null })
        return null
      }
    }
  })
  const refused = reader.push(body) ?? reader.end()
  return refused ?? { boundary, parts, digest: null, length: parts.reduce((sum, { content }) => sum + content.length, 0), hold: inMemory }
}

const textOf = ({ content }: FormPart): string =>
  isStored(content) ? "" : Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("utf8")

/** Its fields as a request reads them: text, a list where a name comes again or ends with `[]`, and of a file its name, type and size. */
export const fieldsOf = ({ parts }: Pick<Form, "parts">): Record<string, unknown> => {
  const fields: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const part of parts) {
    const value = part.filename === null ? textOf(part) : { filename: part.filename, contentType: part.contentType, bytes: part.content.length }
    const isList = part.name.endsWith("[]")
    const name = isList ? part.name.slice(0, -2) : part.name
    const known = fields[name]
    fields[name] = known === undefined ? isList ? [value] : value : Array.isArray(known) ? [...known, value] : [known, value]
  }
  return { ...fields }
}

/** What a file is among the fields of a form. */
export interface File {
  readonly filename: string
  readonly contentType: string | null
  readonly bytes: number
}

export const isFile = (value: unknown): value is File =>
  typeof value === "object" && value !== null && "filename" in value && "bytes" in value && typeof value.filename === "string"

/** The first file of a name; null without one. */
export const fileOf = ({ parts }: Pick<Form, "parts">, field: string): FormPart | null => parts.find(({ filename, name }) => name === field && filename !== null) ?? null

const CRLF = Buffer.from("\r\n")

/** The same form with other plain fields; null leaves a field out, and what the form does not have is added at its end. */
export const withFields = ({ boundary, parts }: Pick<Form, "boundary" | "parts">, changes: Readonly<Record<string, string | null>>): Body => {
  const delimiter = Buffer.from(`--${boundary}\r\n`, "latin1")
  const pieces: Array<Piece> = []
  const left = new Set(Object.keys(changes))
  for (const part of parts) {
    const change = changes[part.name]
    if (part.filename !== null || change === undefined) pieces.push(delimiter, part.lines, CRLF, CRLF, part.content, CRLF)
    else if (left.delete(part.name) && change !== null) pieces.push(fieldOf(boundary, part.name, change))
  }
  for (const name of left) {
    const value = changes[name]
    if (typeof value === "string") pieces.push(fieldOf(boundary, name, value))
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`, "latin1"))
  const joined = join(pieces)
  const [first] = joined
  return first !== undefined && joined.length === 1 && !isStored(first) ? first : new Pieces(joined)
}

/** Neighbours in memory become one piece. */
const join = (pieces: ReadonlyArray<Piece>): ReadonlyArray<Piece> => {
  const joined: Array<Piece> = []
  let run: Array<Uint8Array> = []
  for (const piece of pieces) {
    if (!isStored(piece)) {
      run.push(piece)
      continue
    }
    joined.push(Buffer.concat(run), piece)
    run = []
  }
  return [...joined, Buffer.concat(run)]
}

const fieldOf = (boundary: string, name: string, value: string): Buffer =>
  Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name.replace(/"/g, "%22").replace(/[\r\n]/g, " ")}"\r\n\r\n${value}\r\n`)

/** A content as the whole body of a request. */
export const bodyOf = ({ content }: Pick<FormPart, "content">): Body => isStored(content) ? new Pieces([content]) : content

export const contentTypeOf = ({ boundary }: Pick<Form, "boundary">): string =>
  `multipart/form-data; boundary=${/^[\w'()+./:=?-]+$/.test(boundary) && !/[()/:=?]/.test(boundary) ? boundary : `"${boundary}"`}`
