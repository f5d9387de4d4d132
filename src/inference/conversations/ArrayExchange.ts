/**
 * An exchange whose client wants a stream as one JSON array: `:streamGenerateContent` without `alt=sse`. Everything behind it writes
 * server-sent events; they become items on their way out. Errors before the stream, which have another type, pass as they are.
 */
import type { Exchange } from "#src/platform/server/Exchange.ts"
import { JsonArray } from "#src/wire/generateContent/stream/jsonArray.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"

/** The client of such a path asks for a stream, and not for its events. */
export const wants = ({ path, query }: Pick<Exchange, "path" | "query">): boolean =>
  path.endsWith(":streamGenerateContent") && new URLSearchParams(query).get("alt")?.toLowerCase() !== "sse"

/** Headers with the array's type; null where they are not of events. */
const arrayHeaders = (headers: ReadonlyArray<string>): ReadonlyArray<string> | null => {
  const at = headers.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === "content-type") + 1
  return at === 0 || !/^text\/event-stream/i.test(headers[at] as string) ? null : headers.with(at, "application/json")
}

const bytesOf = (chunk: Uint8Array | string): Buffer => typeof chunk === "string" ? Buffer.from(chunk) : asBuffer(chunk)

export class ArrayExchange implements Exchange {
  private readonly exchange: Exchange
  /** Set while events are written. */
  private array: JsonArray | null = null
  /** The client took what was written last. */
  private isTaken = true

  constructor(exchange: Exchange) {
    this.exchange = exchange
  }

  get actsAs(): Exchange["actsAs"] { return this.exchange.actsAs }
  get continues(): Exchange["continues"] { return this.exchange.continues }
  get method(): string { return this.exchange.method }
  get path(): string { return this.exchange.path }
  get query(): string { return this.exchange.query }
  get headers(): ReadonlyArray<string> { return this.exchange.headers }
  get peerAddress(): string { return this.exchange.peerAddress }
  get remoteAddress(): string { return this.exchange.remoteAddress }
  get closed(): boolean { return this.exchange.closed }
  get pendingBytes(): number { return this.exchange.pendingBytes }

  /** An array has no place for frames of progress. */
  header(name: string): string | undefined {
    return name === "x-gateway-progress" ? undefined : this.exchange.header(name)
  }

  readBody(...asked: Parameters<Exchange["readBody"]>): void {
    this.exchange.readBody(...asked)
  }

  streamBody(...asked: Parameters<Exchange["streamBody"]>): ReturnType<Exchange["streamBody"]> {
    return this.exchange.streamBody(...asked)
  }

  onRelease(listener: () => void): void {
    this.exchange.onRelease(listener)
  }

  releaseBody(): void {
    this.exchange.releaseBody()
  }

  onAbort(listener: Parameters<Exchange["onAbort"]>[0]): void {
    this.exchange.onAbort((reason) => {
      this.array?.close()
      listener(reason)
    })
  }

  addHeaders(headers: ReadonlyArray<string>): void {
    this.exchange.addHeaders(headers)
  }

  start(status: number, headers: ReadonlyArray<string>): void {
    const own = arrayHeaders(headers)
    if (own !== null) this.array = new JsonArray()
    this.exchange.start(status, own ?? headers)
  }

  startSized(status: number, headers: ReadonlyArray<string>, length: number): void {
    this.exchange.startSized(status, headers, length)
  }

  write(chunk: Uint8Array): boolean {
    return this.pass(chunk, (bytes) => this.exchange.write(bytes))
  }

  relay(chunk: Uint8Array): boolean {
    return this.pass(chunk, (bytes) => this.exchange.relay(bytes))
  }

  onDrain(listener: () => void): void {
    this.exchange.onDrain(() => {
      this.isTaken = true
      listener()
    })
  }

  end(chunk?: Uint8Array | string): void {
    const { array } = this
    if (array === null) return this.exchange.end(chunk)
    const items = array.push(bytesOf(chunk ?? ""))
    if (items === null) return this.close()
    this.exchange.end(Buffer.concat([items, array.end()]))
  }

  respond(status: number, headers: ReadonlyArray<string>, body: Uint8Array | string): void {
    const own = arrayHeaders(headers)
    if (own === null) return this.exchange.respond(status, headers, body)
    const array = new JsonArray()
    const items = array.push(bytesOf(body))
    if (items === null) return this.exchange.close()
    this.exchange.respond(status, own, Buffer.concat([items, array.end()]))
  }

  close(): void {
    this.array?.close()
    this.exchange.close()
  }

  private pass(chunk: Uint8Array, send: (bytes: Uint8Array) => boolean): boolean {
    if (this.array === null) return send(chunk)
    const items = this.array.push(asBuffer(chunk))
    if (items === null) {
      this.close()
      return false
    }
    if (items.length > 0) this.isTaken = send(items)
    return this.isTaken
  }
}
