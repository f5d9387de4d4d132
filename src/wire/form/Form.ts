/**
 * Bodies of type multipart/form-data (RFC 7578): their parts as ranges of the bytes, so that files are neither copied nor decoded. Pure.
 */
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"

export interface Part {
  readonly name: string
  /** Null for a plain field. */
  readonly filename: string | null
  /** Null where the part does not say. */
  readonly contentType: string | null
  /** Its content in the body. */
  readonly start: number
  readonly end: number
  /** From the first byte of its delimiter line to the last one of its content. */
  readonly from: number
}

export interface Form {
  readonly boundary: string
  readonly parts: ReadonlyArray<Part>
}

/** Parts of one form. */
const maxParts = 256
/** Headers of one part, bytes. */
const maxPartHead = 8 * 1024
/** A plain field, bytes. */
const maxField = 1024 * 1024

const refusal = (message: string): PublicError => Errors.make("bad_request", message, { extra: { param: "body" } })

/** The boundary of a Content-Type; null for another type, or one without a boundary. */
export const boundaryOf = (contentType: string | undefined): string | null => {
  if (contentType === undefined || !/^\s*multipart\/form-data\s*(?:;|$)/i.test(contentType)) return null
  const found = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;,"]{1,70}))/i.exec(contentType)
  return found === null ? null : found[1] ?? found[2] ?? null
}

const CRLF = Buffer.from("\r\n")
const HEAD_END = Buffer.from("\r\n\r\n")

export const parse = (body: Buffer, boundary: string): Form | PublicError => {
  const delimiter = Buffer.from(`--${boundary}`, "latin1")
  const next = Buffer.from(`\r\n--${boundary}`, "latin1")
  const parts: Array<Part> = []
  let from = body.indexOf(delimiter)
  // A preamble ends with a line break.
  if (from > 0 && !body.subarray(from - 2, from).equals(CRLF)) from = body.indexOf(next) + 2
  if (from < 0 || (from === 1)) return refusal("The body does not begin with the boundary that its Content-Type names.")
  for (;;) {
    let at = from + delimiter.length
    if (body[at] === 0x2d && body[at + 1] === 0x2d) return { boundary, parts }
    while (body[at] === 0x20 || body[at] === 0x09) at++
    if (body[at] !== 0x0d || body[at + 1] !== 0x0a) return refusal("The body ends in the middle of its form: it was cut, or its boundary is wrong.")
    const head = body[at + 2] === 0x0d && body[at + 3] === 0x0a ? at : body.indexOf(HEAD_END, at)
    if (head < 0 || head - at > maxPartHead) return refusal("A part of the form has no end of its headers.")
    const start = head + HEAD_END.length
    const end = body.indexOf(next, start)
    if (end < 0) return refusal("The body ends in the middle of its form: it was cut, or its boundary is wrong.")
    const part = partOf(body.toString("utf8", at, head))
    if (part === null) return refusal("A part of the form has no name: Content-Disposition must be form-data with a name.")
    if (parts.length >= maxParts) return refusal(`The form has more than ${maxParts} parts.`)
    if (part.filename === null && end - start > maxField) return refusal(`Field '${part.name.slice(0, 100)}' of the form is larger than ${maxField} bytes.`)
    parts.push({ ...part, start, end, from })
    from = end + CRLF.length
  }
}

const partOf = (head: string): Pick<Part, "name" | "filename" | "contentType"> | null => {
  const disposition = /(?:^|\r\n)content-disposition:\s*form-data\s*;([^\r\n]*)/i.exec(head)?.[1]
  if (disposition === undefined) return null
  const name = parameter(disposition, "name")
  if (name === null) return null
  return { name, filename: parameter(disposition, "filename"), contentType: /(?:^|\r\n)content-type:\s*([^\r\n]*)/i.exec(head)?.[1]?.trim() ?? null }
}

/** Browsers write a quotation mark in a name as %22. */
const parameter = (disposition: string, name: string): string | null => {
  const found = new RegExp(`(?:^|[;\\s])${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;]+))`, "i").exec(disposition)
  if (found === null) return null
  return (found[1]?.replace(/\\(.)/g, "$1") ?? found[2] ?? "").replace(/%22/g, "\"").replace(/%0D/gi, "\r").replace(/%0A/gi, "\n")
}

/** Its fields as a request reads them: text, a list where a name comes again or ends with `[]`, and of a file its name, type and size. */
export const fieldsOf = (body: Buffer, { parts }: Form): Record<string, unknown> => {
  const fields: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const part of parts) {
    const value = part.filename === null
      ? body.toString("utf8", part.start, part.end)
      : { filename: part.filename, contentType: part.contentType, bytes: part.end - part.start }
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

/** The same form with other plain fields; null leaves a field out, and what the form does not have is added at its end. */
export const withFields = (body: Buffer, { boundary, parts }: Form, changes: Readonly<Record<string, string | null>>): Buffer => {
  const pieces: Array<Buffer> = []
  const left = new Set(Object.keys(changes))
  for (const part of parts) {
    const change = changes[part.name]
    if (part.filename !== null || change === undefined) pieces.push(body.subarray(part.from, part.end), CRLF)
    else {
      if (left.delete(part.name) && change !== null) pieces.push(fieldOf(boundary, part.name, change))
    }
  }
  for (const name of left) {
    const value = changes[name]
    if (typeof value === "string") pieces.push(fieldOf(boundary, name, value))
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`, "latin1"))
  return Buffer.concat(pieces)
}

const fieldOf = (boundary: string, name: string, value: string): Buffer =>
  Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name.replace(/"/g, "%22").replace(/[\r\n]/g, " ")}"\r\n\r\n${value}\r\n`)

export const contentTypeOf = ({ boundary }: Form): string => `multipart/form-data; boundary=${/^[\w'()+./:=?-]+$/.test(boundary) && !/[()/:=?]/.test(boundary) ? boundary : `"${boundary}"`}`
