/**
 * Signed requests to a bucket of any S3-compatible service, by path (`endpoint/bucket/key`). What may pass is tried again; redirects are
 * not followed. The endpoint is the operator's own setting, and mostly a private address: the guard of foreign URLs is not asked.
 */
import * as https from "node:https"
import { Readable } from "node:stream"
import { AwsV4Signer } from "aws4fetch"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as StatusReason from "#schemas/statusReason.ts"
import { http } from "#src/platform/structures/nodeHttp.ts"

export interface Options {
  /** Without a last slash. */
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  readonly accessKeyId: Redacted.Redacted<string>
  readonly secretAccessKey: Redacted.Redacted<string>
}

/** The service refused, or cannot be reached. `code`: its own word, such as NoSuchKey; empty without one. */
export class S3Failure extends Schema.TaggedError<S3Failure>()("S3Failure", {
  status: Schema.Number,
  code: Schema.String,
  message: Schema.String,
  cause: Schema.optional(Schema.Defect())
}) {}

export interface S3Request {
  readonly method: "GET" | "PUT" | "POST" | "DELETE"
  /** Empty for the bucket itself. */
  readonly key: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array<ArrayBuffer>
  /** SHA-256 of the body, hexadecimal; the service checks it. */
  readonly sha256?: string
}

export interface S3Client {
  /** The head of the answer; its body must be read or cancelled. */
  readonly send: (request: S3Request) => Effect.Effect<Response, S3Failure>
  /** The same, with the whole text of a small answer. */
  readonly text: (request: S3Request) => Effect.Effect<{ readonly headers: Headers; readonly text: string }, S3Failure>
}

/** From the first byte of a request to the head of its answer, and from there to the end of a small one, ms. */
const ANSWER_MS = 15_000
/** The same where a part of a file has to go out, or parts are put together, ms. */
const SENT_MS = 60_000
/** Bytes of an error that are looked at. */
const ERROR_BYTES = 2_000
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

const retries = { schedule: Schedule.exponential("200 millis"), times: 3, while: (failure: S3Failure) => failure.status === 0 || StatusReason.isPassing(failure.status) }

const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}

/** The text of the first element of this name. */
export const element = (xml: string, name: string): string => {
  const found = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? ""
  return found.replace(/&(lt|gt|quot|apos|amp);/g, (_, entity: string) => ({ lt: "<", gt: ">", quot: "\"", apos: "'", amp: "&" })[entity] ?? "")
}

/** What stands in each element of this name. */
export const elements = (xml: string, name: string): ReadonlyArray<string> => Array.from(xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, "gs")), ([, inside = ""]) => inside)

const agents = { http: new http.Agent({ keepAlive: true }), https: new https.Agent({ keepAlive: true }) }

/** Statuses of answers that have no body. */
const bodiless: ReadonlySet<number> = new Set([204, 304])

/** One call. Not by `fetch`, which copies each body: parts of files would fill the memory until it is collected. */
const exchange = (url: URL, method: string, headers: Readonly<Record<string, string>>, body: Uint8Array | undefined, signal: AbortSignal): Promise<Response> =>
  new Promise((resolve, reject) => {
    const options = { method, signal, headers: { ...headers, "content-length": String(body?.byteLength ?? 0) } }
    const request = url.protocol === "http:" ? http.request(url, { ...options, agent: agents.http }) : https.request(url, { ...options, agent: agents.https })
    request.once("error", reject)
    request.once("response", (incoming) => {
      const status = incoming.statusCode ?? 0
      const told = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, Array.isArray(value) ? value.join(", ") : value ?? ""])
      const isEmpty = bodiless.has(status)
      if (isEmpty) incoming.resume()
      resolve(new Response(isEmpty ? null : Readable.toWeb(incoming) as ReadableStream<Uint8Array>, { status, headers: told }))
    })
    request.end(body)
  })

export const make = ({ accessKeyId, bucket, endpoint, region, secretAccessKey }: Options): S3Client => {
  const urlOf = ({ key, query = {} }: S3Request): string => {
    const url = new URL(`${endpoint}/${encodeURIComponent(bucket)}${key === "" ? "" : `/${key.split("/").map(encodeURIComponent).join("/")}`}`)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    return url.href
  }

  const within = ({ body }: S3Request) => {
    const duration = body === undefined ? ANSWER_MS : SENT_MS
    const silent = new S3Failure({ status: 0, code: "", message: `bucket ${bucket} at ${new URL(endpoint).host} did not answer within ${duration} ms` })
    return <A>(effect: Effect.Effect<A, S3Failure>): Effect.Effect<A, S3Failure> => Effect.timeoutOrElse(effect, { duration, orElse: () => Effect.fail(silent) })
  }

  const once = (request: S3Request): Effect.Effect<Response, S3Failure> => Effect.tryPromise({
    try: async (signal) => {
      const { headers, url } = await new AwsV4Signer({
        method: request.method, url: urlOf(request), service: "s3", region,
        headers: { ...request.headers, "x-amz-content-sha256": request.sha256 ?? EMPTY_SHA256 },
        accessKeyId: Redacted.value(accessKeyId), secretAccessKey: Redacted.value(secretAccessKey)
      }).sign()
      const response = await exchange(url, request.method, Object.fromEntries(headers), request.body, signal)
      if (StatusReason.isOk(response.status)) return response
      const text = (await response.text()).slice(0, ERROR_BYTES)
      const code = element(text, "Code")
      throw new S3Failure({ status: response.status, code, message: `bucket ${bucket} answered ${response.status} ${code} ${element(text, "Message").slice(0, 300)}`.trimEnd() })
    },
    catch: (error) => error instanceof S3Failure ? error : new S3Failure({ status: 0, code: "", message: `bucket ${bucket} at ${new URL(endpoint).host} cannot be reached: ${messageOf(error)}`, cause: error })
  }).pipe(within(request))

  const send = (request: S3Request): Effect.Effect<Response, S3Failure> => Effect.retry(once(request), retries)

  return {
    send,
    text: (request) => Effect.retry(Effect.flatMap(once(request), (response) => Effect.tryPromise({
      try: async () => ({ headers: response.headers, text: await response.text() }),
      catch: (error) => new S3Failure({ status: 0, code: "", message: `the answer of bucket ${bucket} broke off: ${messageOf(error)}`, cause: error })
    }).pipe(within(request))), retries)
  }
}
