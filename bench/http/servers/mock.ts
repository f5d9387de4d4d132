/**
 * The upstream of every target: answers prebuilt bytes on node:net, so that its own cost never decides a comparison.
 *
 * Run as a child: `mock.ts <port> <tick ms>`; sends `{port}` to its parent and ends with it. All paced streams are driven
 * by one timer: each stream has a slot in a wheel of `interval / tick` slots, so a tick equal to the interval wakes all
 * streams at once and a small tick spreads them.
 */
import { createServer, type Socket } from "node:net"
import { UploadReader, uploadPath } from "#bench/http/upload.ts"
import {
  answer, chunked, clockMicros, closingEvents, contentEvent, embeddingAnswer, openingEvent, scriptOf, soundAnswer, STAMP_DIGITS, type StreamScript
} from "#bench/http/payload.ts"

const MAX_REQUEST = 4 * 1024 * 1024
const BURST_EVENTS_PER_TURN = 16
const BULK_EVENTS_PER_CHUNK = 8
const BULK_WRITE = 65_536

const port = Number(process.argv[2] ?? "0")
const tickMs = Number(process.argv[3] ?? "2")

const response = (status: string, type: string, body: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`, "latin1"),
    body
  ])

const answerResponse = response("200 OK", "application/json", answer)
const embeddingResponse = response("200 OK", "application/json", embeddingAnswer("m-embedding"))
const models = response("200 OK", "application/json", Buffer.from(`{"object":"list","data":[{"id":"m-json","object":"model"}]}`))
const notFound = response("404 Not Found", "application/json", Buffer.from(`{"error":{"message":"no such script"}}`))
const lengthRequired = response("411 Length Required", "application/json", Buffer.from(`{"error":{"message":"length required"}}`))
const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
const lastChunk = "0\r\n\r\n"
const jsonModel = Buffer.from(`m-json"`)
const headEndMark = Buffer.from("\r\n\r\n")

let requests = 0

interface PacedFrames {
  readonly prefixes: ReadonlyArray<string>
  readonly suffixes: ReadonlyArray<string>
}

const cached = <A>(build: (script: StreamScript) => A): (script: StreamScript) => A => {
  const built = new Map<string, A>()
  return (script) => {
    const key = JSON.stringify(script)
    let value = built.get(key)
    if (value === undefined) {
      if (built.size >= 16) built.clear()
      built.set(key, value = build(script))
    }
    return value
  }
}

const pacedFrames = cached((script): PacedFrames => {
  const prefixes: Array<string> = []
  const suffixes: Array<string> = []
  for (let index = 0; index < script.events; index++) {
    const [prefix, suffix] = contentEvent(script, index)
    prefixes.push(`${(prefix.length + STAMP_DIGITS + suffix.length).toString(16)}\r\n${prefix}`)
    suffixes.push(`${suffix}\r\n`)
  }
  return { prefixes, suffixes }
})

const burstFrames = cached((script): ReadonlyArray<Buffer> =>
  Array.from({ length: script.events }, (_, index) => Buffer.from(chunked(contentEvent(script, index).join("")), "latin1"))
)

const bulkBody = cached((script): Buffer => {
  const parts: Array<string> = []
  for (let index = 0; index < script.events; index += BULK_EVENTS_PER_CHUNK) {
    let text = ""
    for (let event = index; event < Math.min(script.events, index + BULK_EVENTS_PER_CHUNK); event++) {
      text += contentEvent(script, event).join("")
    }
    parts.push(chunked(text))
  }
  return Buffer.from(parts.join(""), "latin1")
})

/** Every stream of one interval, in slots that take turns. */
class Wheel {
  readonly #slots: ReadonlyArray<Set<PacedStream>>
  #next = 0
  #turn = 0
  readonly #begun = performance.now()

  constructor(intervalMs: number) {
    this.#slots = Array.from({ length: Math.max(1, Math.round(intervalMs / tickMs)) }, () => new Set<PacedStream>())
  }

  add(stream: PacedStream): Set<PacedStream> {
    const slot = this.#slots[this.#next++ % this.#slots.length]
    if (slot === undefined) throw new Error("a wheel has at least one slot")
    return slot.add(stream)
  }

  /** Runs every slot whose time has come; a late timer catches up, so that the rate holds. */
  advance(): void {
    const due = Math.floor((performance.now() - this.#begun) / tickMs)
    for (; this.#turn < due; this.#turn++) {
      const slot = this.#slots[this.#turn % this.#slots.length]
      if (slot === undefined || slot.size === 0) continue
      const stamp = String(Math.floor(clockMicros())).padStart(STAMP_DIGITS, "0")
      for (const stream of slot) stream.send(stamp)
    }
  }
}

const wheels = new Map<number, Wheel>()
setInterval(() => {
  for (const wheel of wheels.values()) wheel.advance()
}, tickMs)

class PacedStream {
  readonly #socket: Socket
  readonly #script: StreamScript
  readonly #frames: PacedFrames
  readonly #slot: Set<PacedStream>
  #sent = 0

  constructor(socket: Socket, script: StreamScript & { readonly kind: "paced" }) {
    this.#socket = socket
    this.#script = script
    this.#frames = pacedFrames(script)
    let wheel = wheels.get(script.intervalMs)
    if (wheel === undefined) wheels.set(script.intervalMs, wheel = new Wheel(script.intervalMs))
    socket.write(streamHead + chunked(openingEvent), "latin1")
    this.#slot = wheel.add(this)
  }

  send(stamp: string): void {
    const index = this.#sent++
    if (index < this.#script.events) {
      this.#socket.write(`${this.#frames.prefixes[index]}${stamp}${this.#frames.suffixes[index]}`, "latin1")
      return
    }
    this.stop()
    this.#socket.write(chunked(closingEvents(this.#script)) + lastChunk, "latin1")
  }

  stop(): void {
    this.#slot.delete(this)
  }
}

/** Runs `turn` until it answers "done"; "wait" waits for the socket to drain, "yield" for the next turn of the loop. */
const drive = (socket: Socket, turn: () => "yield" | "wait" | "done"): void => {
  const run = (): void => {
    if (socket.destroyed) return
    const next = turn()
    if (next === "yield") setImmediate(run)
    else if (next === "wait") socket.once("drain", run)
  }
  run()
}

const sendBurst = (socket: Socket, script: StreamScript): void => {
  const frames = burstFrames(script)
  let sent = 0
  socket.write(streamHead + chunked(openingEvent), "latin1")
  drive(socket, () => {
    for (let count = 0; count < BURST_EVENTS_PER_TURN; count++) {
      const frame = frames[sent++]
      if (frame === undefined) {
        socket.write(chunked(closingEvents(script)) + lastChunk, "latin1")
        return "done"
      }
      if (!socket.write(frame)) return "wait"
    }
    return "yield"
  })
}

const sendBulk = (socket: Socket, script: StreamScript): void => {
  const body = bulkBody(script)
  let sent = 0
  socket.write(streamHead + chunked(openingEvent), "latin1")
  drive(socket, () => {
    if (sent >= body.length) {
      socket.write(chunked(closingEvents(script)) + lastChunk, "latin1")
      return "done"
    }
    const part = body.subarray(sent, sent + BULK_WRITE)
    sent += part.length
    return socket.write(part) ? "yield" : "wait"
  })
}

const sounds = new Map<number, Buffer>()

const sendSound = (socket: Socket, megabytes: number): void => {
  let sound = sounds.get(megabytes)
  if (sound === undefined) sounds.set(megabytes, sound = soundAnswer(megabytes))
  const body = sound
  let sent = 0
  socket.write(`HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nContent-Length: ${body.length}\r\n\r\n`, "latin1")
  drive(socket, () => {
    if (sent >= body.length) return "done"
    const part = body.subarray(sent, sent + BULK_WRITE)
    sent += part.length
    return socket.write(part) ? "yield" : "wait"
  })
}

const answerTo = (socket: Socket, head: string, body: string): PacedStream | null => {
  if (head.startsWith("GET ")) {
    socket.write(head.startsWith("GET /v1/models") ? models : notFound)
    return null
  }
  const model = /"model"\s*:\s*"([^"]*)"/.exec(body)?.[1] ?? ""
  const script = scriptOf(model)
  if (script === null) socket.write(notFound)
  else if (script.kind === "json") socket.write(answerResponse)
  else if (script.kind === "embedding") socket.write(embeddingResponse)
  else if (script.kind === "sound") sendSound(socket, script.megabytes)
  else if (script.kind === "burst") sendBurst(socket, script)
  else if (script.kind === "bulk") sendBulk(socket, script)
  else return new PacedStream(socket, script)
  return null
}

const contentLength = (head: string): number => {
  const match = /\r\ncontent-length:[ \t]*(\d+)/i.exec(head)
  if (match !== null) return Number(match[1])
  return head.startsWith("GET ") ? 0 : -1
}

const serve = (socket: Socket): void => {
  let rest: Buffer | null = null
  let stream: PacedStream | null = null
  let upload: UploadReader | null = null
  socket.on("data", (chunk: Buffer) => {
    let bytes = rest === null ? chunk : Buffer.concat([rest, chunk])
    rest = null
    while (bytes.length > 0) {
      if (upload !== null) {
        bytes = bytes.subarray(upload.push(bytes))
        if (upload.left > 0) return
        socket.write(response("200 OK", "application/json", upload.answer()))
        upload = null
        requests++
        continue
      }
      const headEnd = bytes.indexOf(headEndMark)
      const head = headEnd === -1 ? "" : bytes.toString("latin1", 0, headEnd)
      const length = headEnd === -1 ? 0 : contentLength(head)
      if (length === -1) {
        socket.end(lengthRequired)
        return
      }
      if (headEnd !== -1 && head.startsWith(`POST /v1${uploadPath} `)) {
        upload = new UploadReader(length)
        bytes = bytes.subarray(headEnd + 4)
        continue
      }
      const end = headEnd + 4 + length
      if (headEnd === -1 || bytes.length < end) {
        if (bytes.length > MAX_REQUEST) socket.destroy()
        else rest = bytes
        return
      }
      requests++
      const json = bytes.indexOf(jsonModel, headEnd)
      if (json !== -1 && json < end) socket.write(answerResponse)
      else stream = answerTo(socket, head, bytes.toString("latin1", headEnd + 4, end))
      bytes = bytes.subarray(end)
    }
  })
  socket.on("error", () => socket.destroy())
  socket.on("close", () => stream?.stop())
}

const server = createServer({ noDelay: true }, serve)
server.listen({ port, host: "127.0.0.1", backlog: 4096 }, () => {
  const address = server.address()
  process.send?.({ port: typeof address === "object" && address !== null ? address.port : port })
})

process.on("message", () => process.send?.({ requests }))
process.on("disconnect", () => process.exit(0))
process.on("SIGINT", () => undefined)
