/**
 * A plain HTTP client for tests: the path goes out exactly as it is written, every header comes back, and a stream is read
 * event by event. Nothing is retried, followed or normalized.
 */
import * as http from "node:http"

export interface Call {
  readonly method?: string
  /** Sent as it is, never normalized. */
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON unless it is text or bytes. */
  readonly body?: unknown
  readonly agent?: http.Agent
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer
  readonly text: string
  /** False when the connection broke before the body was complete. */
  readonly whole: boolean
}

const longestCallMs = 80_000

const bytesOf = (body: unknown): Buffer | undefined =>
  body === undefined ? undefined : typeof body === "string" ? Buffer.from(body) : body instanceof Uint8Array ? Buffer.from(body) : Buffer.from(JSON.stringify(body))

const flatten = (headers: http.IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value ?? ""]))

/** Opens a request; the response is taken by the caller. */
export const open = (url: string, call: Call): { readonly request: http.ClientRequest; readonly response: Promise<http.IncomingMessage> } => {
  const { hostname, port } = new URL(url)
  const body = bytesOf(call.body)
  const request = http.request({
    host: hostname, port, method: call.method ?? (body === undefined ? "GET" : "POST"), path: call.path ?? "/",
    headers: {
      ...(body === undefined ? {} : {
        "content-type": "application/json",
        ...(call.headers?.["transfer-encoding"] === undefined ? { "content-length": String(body.length) } : {})
      }),
      ...call.headers
    },
    ...(call.agent === undefined ? { agent: false } : { agent: call.agent })
  })
  const response = new Promise<http.IncomingMessage>((resolve, reject) => {
    request.once("response", resolve)
    request.on("error", reject)
  })
  // A caller that cuts the request on purpose need not listen.
  response.catch(() => undefined)
  request.setTimeout(longestCallMs, () => request.destroy(new Error(`no answer from ${call.path} within ${longestCallMs} ms`)))
  request.end(body)
  return { request, response }
}

/** One whole call. */
export const send = async (url: string, call: Call): Promise<Reply> => {
  const response = await open(url, call).response
  const chunks: Array<Buffer> = []
  const whole = await new Promise<boolean>((resolve) => {
    response.on("data", (chunk: Buffer) => chunks.push(chunk))
    response.once("close", () => resolve(response.complete))
    response.on("error", () => undefined)
  })
  const bytes = Buffer.concat(chunks)
  return { status: response.statusCode ?? 0, headers: flatten(response.headers), bytes, text: bytes.toString("utf8"), whole }
}

/** The `data:` payloads of an event stream, in order. */
export const payloads = (text: string): ReadonlyArray<string> =>
  text.split(/\r\n\r\n|\n\n|\r\r/).flatMap((event) => {
    const data = event.split(/\r\n|\n|\r/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).replace(/^ /, ""))
    return data.length === 0 ? [] : [data.join("\n")]
  })

export interface Opened {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Waits until the text received so far satisfies the condition, or the stream ended; answers the text. */
  readonly until: (reached: (text: string) => boolean) => Promise<string>
  /** Cuts the connection and answers when that was done (ms since the epoch, with a fraction). */
  readonly leave: () => number
  readonly ended: Promise<{ readonly text: string; readonly whole: boolean }>
}

const precise = (): number => performance.timeOrigin + performance.now()

/** Opens a stream and leaves it open. */
export const stream = async (url: string, call: Call): Promise<Opened> => {
  const { request, response } = open(url, call)
  const reply = await response
  let text = ""
  let over = false
  let wake: () => void = () => undefined
  reply.setEncoding("utf8")
  reply.on("error", () => undefined)
  request.on("error", () => undefined)
  const ended = new Promise<{ text: string; whole: boolean }>((resolve) => {
    reply.on("data", (chunk: string) => {
      text += chunk
      wake()
    })
    reply.once("close", () => {
      over = true
      wake()
      resolve({ text, whole: reply.complete })
    })
  })
  return {
    status: reply.statusCode ?? 0,
    headers: flatten(reply.headers),
    until: async (reached) => {
      while (!over && !reached(text)) await new Promise<void>((resolve) => { wake = resolve })
      return text
    },
    leave: () => {
      const at = precise()
      request.destroy()
      return at
    },
    ended
  }
}
