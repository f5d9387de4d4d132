/** Forms with a file, written by hand so that each wrong one can be written, too. */
import * as http from "node:http"
import * as Http from "./http.ts"

export interface Part {
  readonly name: string
  readonly filename?: string
  readonly type?: string
  readonly value: string | Buffer
}

const BOUNDARY = "----gateway-test"

export const contentType = `multipart/form-data; boundary=${BOUNDARY}`

export const head = ({ filename, name, type }: Omit<Part, "value">): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? "" : `; filename="${filename}"`}\r\n${type === undefined ? "" : `Content-Type: ${type}\r\n`}\r\n`

export const end = `--${BOUNDARY}--\r\n`

export const bytes = (parts: ReadonlyArray<Part>): Buffer =>
  Buffer.concat([...parts.flatMap((part) => [Buffer.from(head(part)), Buffer.from(part.value), Buffer.from("\r\n")]), Buffer.from(end)])

export const file = (value: string | Buffer, more: Partial<Part> = {}): Part => ({ name: "file", filename: "lines.jsonl", type: "application/jsonl", value, ...more })
export const field = (name: string, value: string): Part => ({ name, value })

/** Posts a form to /v1/files. */
export const upload = (url: string, parts: ReadonlyArray<Part>, headers: Readonly<Record<string, string>> = {}): Promise<Http.Reply> =>
  Http.send(url, { path: "/v1/files", method: "POST", body: bytes(parts), headers: { "content-type": contentType, ...headers } })

/** Begins an upload of a file of so many bytes; the caller writes on, and ends it with `finish`, or not. */
export const begin = (url: string, headers: Readonly<Record<string, string>>, size: number): { readonly request: http.ClientRequest; readonly finish: () => Promise<http.IncomingMessage> } => {
  const first = Buffer.from(`${head({ name: "purpose" })}user_data\r\n${head({ name: "file", filename: "large.bin", type: "application/octet-stream" })}`)
  const last = Buffer.from(`\r\n${end}`)
  const request = http.request(new URL("/v1/files", url), {
    method: "POST", agent: false, headers: { ...headers, "content-type": contentType, "content-length": String(first.length + size + last.length) }
  })
  const response = new Promise<http.IncomingMessage>((resolve, reject) => {
    request.once("response", resolve)
    request.once("error", reject)
  })
  response.catch(() => undefined)
  request.write(first)
  return {
    request,
    finish: () => {
      request.end(last)
      return response
    }
  }
}
