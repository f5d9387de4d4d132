/** Calls of files and batches, by Node's own client: what the client costs is not measured. */
import * as http from "node:http"
import type { Endpoint } from "#bench/http/load/Job.ts"

const CALL_TIMEOUT_MS = 120_000

export interface Call {
  readonly method: string
  /** From the root of the server. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
}

/** The whole answer; any status that is no success throws. */
export const send = ({ apiKey, host, port }: Endpoint, agent: http.Agent, { body, headers = {}, method, path }: Call): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const request = http.request({
      host, port, agent, method, path, timeout: CALL_TIMEOUT_MS,
      headers: { ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }), ...headers, "content-length": String(body?.length ?? 0) }
    }, (response) => {
      const parts: Array<Buffer> = []
      response.on("data", (part: Buffer) => parts.push(part))
      response.on("error", reject)
      response.on("end", () => {
        const bytes = Buffer.concat(parts)
        const { statusCode = 0 } = response
        if (statusCode >= 200 && statusCode < 300) resolve(bytes)
        else reject(new Error(`${method} ${path}: status ${statusCode} ${bytes.toString("utf8", 0, 300)}`))
      })
    })
    request.on("timeout", () => request.destroy(new Error(`${method} ${path}: no answer within ${CALL_TIMEOUT_MS} ms`)))
    request.on("error", reject)
    request.end(body)
  })

const boundary = "----------------------------bench4712"

/** A form with one file. */
export const formOf = (purpose: string, filename: string, content: Buffer): Pick<Call, "headers" | "body"> => ({
  headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
  body: Buffer.concat([
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\n${purpose}\r\n`),
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\nContent-Type: application/octet-stream\r\n\r\n`),
    content,
    Buffer.from(`\r\n--${boundary}--\r\n`)
  ])
})

/** The member of a JSON answer. */
export const textAt = (answer: Buffer, name: string): string => {
  const value: unknown = Reflect.get(JSON.parse(answer.toString("utf8")) as object, name)
  if (typeof value !== "string") throw new Error(`no ${name} in ${answer.toString("utf8", 0, 300)}`)
  return value
}
