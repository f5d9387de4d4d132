/**
 * Just enough HTTP/1.1 to read responses on a keep-alive connection: status line, content-length, chunked, until-close.
 * The bytes may be split anywhere; body bytes are handed on as ranges of the reader's buffer, which is reused.
 */

export interface ResponseSink {
  readonly head: (status: number, head: string) => void
  readonly body: (bytes: Buffer, start: number, end: number) => void
  readonly end: () => void
}

type State = "head" | "length" | "size" | "data" | "dataEnd" | "trailer" | "untilClose"

const LF = 10
const CR = 13
const MAX_HEAD = 16_384
const MAX_LINE = 1_024

const headerValue = (head: string, lowerCaseName: string): string | null => {
  const match = new RegExp(`\\r\\n${lowerCaseName}:[ \\t]*([^\\r]*)`, "i").exec(head)
  return match === null ? null : (match[1] ?? "")
}

export class ResponseParser {
  readonly #sink: ResponseSink
  #state: State = "head"
  #head = ""
  #line = ""
  #left = 0

  constructor(sink: ResponseSink) {
    this.#sink = sink
  }

  /** True between two responses: nothing of the next one has been read. */
  get idle(): boolean {
    return this.#state === "head" && this.#head === ""
  }

  feed(bytes: Buffer, start: number, end: number): void {
    let at = start
    while (at < end) {
      switch (this.#state) {
        case "head":
          at = this.#readHead(bytes, at, end)
          break
        case "length":
        case "data":
          at = this.#readCounted(bytes, at, end)
          break
        case "untilClose":
          this.#sink.body(bytes, at, end)
          at = end
          break
        case "size":
        case "dataEnd":
        case "trailer":
          at = this.#readLine(bytes, at, end)
          break
      }
    }
  }

  /** The connection has closed. Throws when a response is incomplete. */
  close(): void {
    if (this.#state === "untilClose") return this.#finish()
    if (!this.idle) throw new Error(`connection closed inside a response (${this.#state})`)
  }

  #readHead(bytes: Buffer, start: number, end: number): number {
    const before = this.#head.length
    const text = this.#head + bytes.toString("latin1", start, Math.min(end, start + MAX_HEAD))
    const headEnd = text.indexOf("\r\n\r\n", Math.max(0, before - 3))
    if (headEnd === -1) {
      if (text.length >= MAX_HEAD) throw new Error(`response head over ${MAX_HEAD} bytes`)
      this.#head = text
      return end
    }
    this.#head = ""
    const head = text.slice(0, headEnd + 2)
    const status = Number(head.slice(9, 12))
    if (!head.startsWith("HTTP/1.") || !(status >= 100)) throw new Error(`no HTTP/1 response: ${JSON.stringify(head.slice(0, 40))}`)
    const next = start + headEnd + 4 - before
    if (status < 200) return next
    this.#sink.head(status, head)
    const length = headerValue(head, "content-length")
    if ((headerValue(head, "transfer-encoding") ?? "").toLowerCase().includes("chunked")) this.#state = "size"
    else if (length !== null) this.#expect(Number(length))
    else if (status === 204 || status === 304) this.#finish()
    else this.#state = "untilClose"
    return next
  }

  #expect(length: number): void {
    if (!Number.isSafeInteger(length) || length < 0) throw new Error("content-length is no number")
    this.#left = length
    if (length === 0) return this.#finish()
    this.#state = "length"
  }

  #readCounted(bytes: Buffer, start: number, end: number): number {
    const next = Math.min(end, start + this.#left)
    this.#left -= next - start
    this.#sink.body(bytes, start, next)
    if (this.#left === 0) {
      if (this.#state === "length") this.#finish()
      else this.#state = "dataEnd"
    }
    return next
  }

  #readLine(bytes: Buffer, start: number, end: number): number {
    const found = bytes.indexOf(LF, start)
    const complete = found !== -1 && found < end
    this.#line += bytes.toString("latin1", start, complete ? found : end)
    if (this.#line.length > MAX_LINE) throw new Error(`chunk line over ${MAX_LINE} bytes`)
    if (!complete) return end
    const line = this.#line.charCodeAt(this.#line.length - 1) === CR ? this.#line.slice(0, -1) : this.#line
    this.#line = ""
    this.#takeLine(line)
    return found + 1
  }

  #takeLine(line: string): void {
    if (this.#state === "dataEnd") {
      if (line !== "") throw new Error("chunk is longer than its size")
      this.#state = "size"
      return
    }
    if (this.#state === "trailer") {
      if (line === "") this.#finish()
      return
    }
    const digits = line.split(";", 1)[0]?.trim() ?? ""
    if (!/^[0-9a-f]{1,8}$/i.test(digits)) throw new Error(`no chunk size: ${JSON.stringify(line.slice(0, 40))}`)
    this.#left = Number.parseInt(digits, 16)
    this.#state = this.#left === 0 ? "trailer" : "data"
  }

  #finish(): void {
    this.#state = "head"
    this.#sink.end()
  }
}
