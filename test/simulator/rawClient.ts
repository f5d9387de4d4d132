/**
 * A client of bytes: sends one request over a bare socket and tells exactly what came back and how it ended.
 */
import { connect, type Socket } from "node:net"

export interface RawReply {
  readonly status: number | null
  readonly headers: Record<string, string>
  /** Body without the transfer coding, as far as it came. */
  readonly body: Buffer
  /** The HTTP chunks, when the body was chunked. */
  readonly chunks: ReadonlyArray<Buffer>
  /** The chunked body had its last chunk, or content-length was reached. */
  readonly whole: boolean
  /** Bytes that are no valid chunk coding. */
  readonly garbage: boolean
  /** FIN of the other side, its RST, or our own doing. */
  readonly ended: "fin" | "reset" | "ours"
}

export interface RawOptions {
  readonly path?: string
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly version?: "1.0" | "1.1"
  /** Leave once so many raw bytes (head included) have come. */
  readonly leaveAfter?: number
  /** Leave when this resolves. */
  readonly leaveWhen?: (socket: Socket) => Promise<unknown>
  readonly onData?: (data: Buffer) => void
}

const parse = (raw: Buffer): Omit<RawReply, "ended"> => {
  const empty = Buffer.alloc(0)
  const end = raw.indexOf("\r\n\r\n")
  if (end < 0) return { status: null, headers: {}, body: empty, chunks: [], whole: false, garbage: false }
  const [first = "", ...lines] = raw.subarray(0, end).toString("latin1").split("\r\n")
  const headers = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]))
  const status = Number(first.split(" ")[1])
  const rest = raw.subarray(end + 4)
  if (headers["transfer-encoding"] !== "chunked") {
    const length = headers["content-length"]
    return { status, headers, body: rest, chunks: [], whole: length === undefined || rest.length === Number(length), garbage: false }
  }
  const chunks: Array<Buffer> = []
  let at = 0
  while (true) {
    const line = rest.indexOf("\r\n", at)
    const done = (whole: boolean, garbage = false) => ({ status, headers, body: Buffer.concat(chunks), chunks, whole, garbage })
    if (line < 0) return done(false)
    const text = rest.subarray(at, line).toString("latin1")
    if (!/^[0-9a-f]+$/.test(text)) return done(false, true)
    const size = Number.parseInt(text, 16)
    if (size === 0) return done(true)
    chunks.push(rest.subarray(line + 2, Math.min(rest.length, line + 2 + size)))
    at = line + 2 + size + 2
  }
}

export const raw = (port: number, body: unknown, options: RawOptions = {}): Promise<RawReply> =>
  new Promise((resolve) => {
    const received: Array<Buffer> = []
    let size = 0
    let ended: RawReply["ended"] = "fin"
    const socket = connect(port, "127.0.0.1")
    const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body)
    const head = [
      `${options.method ?? "POST"} ${options.path ?? "/v1/chat/completions"} HTTP/${options.version ?? "1.1"}`,
      "host: sim",
      "content-type: application/json",
      `content-length: ${Buffer.byteLength(text)}`,
      "connection: close",
      ...Object.entries(options.headers ?? {}).map(([name, value]) => `${name}: ${value}`)
    ]
    socket.write(`${head.join("\r\n")}\r\n\r\n${text}`)
    const leave = (): void => {
      if (socket.destroyed) return
      ended = "ours"
      socket.destroy()
    }
    void options.leaveWhen?.(socket).then(leave)
    socket.on("data", (data: Buffer) => {
      if (ended === "ours") return
      received.push(data)
      size += data.length
      options.onData?.(data)
      if (options.leaveAfter !== undefined && size >= options.leaveAfter) leave()
    })
    socket.on("error", () => {
      if (ended !== "ours") ended = "reset"
    })
    socket.on("close", () => resolve({ ...parse(Buffer.concat(received)), ended }))
  })

/** A chat request of one user message. */
export const chat = (model: string, over: Record<string, unknown> = {}) => ({
  model,
  stream: true,
  messages: [{ role: "user", content: "hello brave new world" }],
  ...over
})

/** The data of each event, by the rules of the standard: any line ending, comments, several data lines, optional space. */
export const eventsOf = (body: Buffer): ReadonlyArray<string> => {
  const text = body.toString().replace(/^\uFEFF/, "")
  const events: Array<string> = []
  let data: Array<string> = []
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line === "") {
      if (data.length > 0) events.push(data.join("\n"))
      data = []
    } else if (line.startsWith("data:")) {
      data.push(line.slice(5).replace(/^ /, ""))
    }
  }
  return events
}

/** Frames as the wire has them: each ends with a blank line. */
export const wholeFrames = (body: Buffer): number => body.toString().split("\n\n").length - 1

/** Text of the content deltas. */
export const textOf = (body: Buffer): string =>
  eventsOf(body).filter((data) => data.startsWith("{")).map((data) => {
    const chunk = JSON.parse(data) as { choices?: ReadonlyArray<{ delta: { content?: string | null } }> }
    return chunk.choices?.[0]?.delta.content ?? ""
  }).join("")
