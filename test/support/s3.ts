/**
 * An S3 server on loopback: s3rver behind a front that checks signatures and digests, which s3rver does not, adds the two calls that it
 * lacks (to list and to abort open uploads), notes calls, and refuses those that a test names.
 */
import * as fs from "node:fs"
import * as http from "node:http"
import { createRequire } from "node:module"
import type { AddressInfo } from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import S3rver from "s3rver"
import * as SignatureV4 from "./signatureV4.ts"

export const BUCKET = "gateway-files"
export const ACCESS_KEY = "S3RVER"

export interface S3 {
  readonly url: string
  /** Variables of a gateway that keeps its files there. */
  readonly environment: Readonly<Record<string, string>>
  /** Method and key of each call so far. */
  readonly calls: ReadonlyArray<string>
  /** Uploads of parts that were neither completed nor aborted. */
  readonly open: () => ReadonlyArray<string>
  /** Keys of the bucket. */
  readonly keys: () => ReadonlyArray<string>
  /** The status to answer instead of serving; null: serve. */
  refuse: (method: string, target: string) => number | null
  /** When an open upload is said to have begun. */
  began: () => Date
  readonly close: () => Promise<void>
}

const collected = async (stream: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** s3rver writes tokens of pages with DES, which OpenSSL 3 has only as three times the same key. */
const crypto = createRequire(import.meta.url)("node:crypto") as Record<"createCipheriv" | "createDecipheriv", (name: string, key: Uint8Array, iv: Uint8Array) => unknown>
for (const name of ["createCipheriv", "createDecipheriv"] as const) {
  const known = crypto[name]
  crypto[name] = (cipher, key, iv) => cipher === "des" ? known("des-ede3-cbc", Buffer.concat([key, key, key]), iv) : known(cipher, key, iv)
}

const listen = (server: http.Server): Promise<number> => new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)))

export const startS3 = async (): Promise<S3> => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-s3-"))
  const inner = new S3rver({ address: "127.0.0.1", port: 0, silent: true, directory, configureBuckets: [{ name: BUCKET, configs: [] }] })
  const { port: innerPort } = await inner.run()
  const uploads = new Map<string, { readonly key: string; readonly began: Date }>()
  const calls: Array<string> = []

  const serve = (request: http.IncomingMessage, body: Buffer, response: http.ServerResponse): void => {
    const { headers, method = "", url: target = "" } = request
    const url = new URL(target, "http://s3")
    const key = decodeURIComponent(url.pathname.split("/").slice(2).join("/"))
    const uploadId = url.searchParams.get("uploadId")
    calls.push(`${method} ${key}${url.search}`)
    const answer = (status: number, text = ""): void => void response.writeHead(status, { "content-type": "application/xml" }).end(text)
    const refused = s3.refuse(method, target)
    if (refused !== null) return answer(refused, `<Error><Code>${refused === 507 ? "QuotaExceeded" : "Refused"}</Code><Message>by the test</Message></Error>`)
    const wrong = SignatureV4.problem({ method, target, headers, body }, ACCESS_KEY)
    if (wrong !== null) return answer(403, `<Error><Code>${wrong}</Code><Message>by the front</Message></Error>`)
    if (method === "GET" && key === "" && url.searchParams.has("uploads")) {
      return answer(200, `<ListMultipartUploadsResult>${Array.from(uploads, ([id, upload]) =>
        `<Upload><Key>${upload.key}</Key><UploadId>${id}</UploadId><Initiated>${upload.began.toISOString()}</Initiated></Upload>`).join("")}</ListMultipartUploadsResult>`)
    }
    if (method === "DELETE" && uploadId !== null) return answer(uploads.delete(uploadId) ? 204 : 404)
    const onward = http.request({ host: "127.0.0.1", port: innerPort, method, path: target, headers }, (reply) => {
      const status = reply.statusCode ?? 500
      if (method !== "POST" || status !== 200) {
        response.writeHead(status, reply.headers)
        reply.pipe(response)
        return
      }
      void collected(reply).then((text) => {
        const begun = /<UploadId>([^<]+)</.exec(text.toString("utf8"))?.[1]
        if (url.searchParams.has("uploads") && begun !== undefined) uploads.set(begun, { key, began: s3.began() })
        if (uploadId !== null) uploads.delete(uploadId)
        response.writeHead(status, reply.headers).end(text)
      })
    })
    onward.on("error", () => response.destroy())
    onward.end(body)
  }
  const front = http.createServer((request, response) => void collected(request).then((body) => serve(request, body, response), () => response.destroy()))
  const port = await listen(front)
  const url = `http://127.0.0.1:${port}`

  const s3: S3 = {
    url, calls,
    environment: {
      GATEWAY_FILES_S3_BUCKET: BUCKET, GATEWAY_FILES_S3_ENDPOINT: url, GATEWAY_FILES_S3_ACCESS_KEY_ID: ACCESS_KEY, GATEWAY_FILES_S3_SECRET_ACCESS_KEY: ACCESS_KEY
    },
    open: () => Array.from(uploads.values(), ({ key }) => key),
    keys: () => fs.readdirSync(path.join(directory, BUCKET), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith("._S3rver_object") && !name.includes("uploads")).map((name) => name.replace("._S3rver_object", "")),
    refuse: () => null,
    began: () => new Date(),
    close: async () => {
      front.closeAllConnections()
      await new Promise((resolve) => front.close(resolve))
      await inner.close()
      fs.rmSync(directory, { recursive: true, force: true })
    }
  }
  return s3
}
