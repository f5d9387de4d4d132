/** One socket of live events: who listens, to which channels, and how much it may say. */
import type { LiveEvent } from "./events.ts"
import { channels, isChannel } from "./events.ts"
import type { ServerSocket, SocketHandler } from "#src/platform/server/sockets/ServerSocket.ts"
import * as Json from "#src/wire/json/json.ts"
import type { LiveHub } from "./LiveHub.ts"

export const VERSION = "1.0.0"
/** Messages of a client that was not admitted yet, and bytes of each. */
export const EARLY_MESSAGES = 32
export const EARLY_BYTES = 16_384
/** Messages of a client per second. */
export const MESSAGES_PER_SECOND = 100
const SECOND_MS = 1_000
/** How often it is asked whether the caller may still listen, ms: a sign-out ends its sockets. */
const RECHECK_MS = 15_000

export interface LiveSocketServices {
  readonly hub: LiveHub["Service"]
  readonly now: () => number
  readonly makeId: () => string
  /** Finds out again whether the caller may listen, and closes the socket if not. */
  readonly recheck: () => void
  readonly over: () => void
}

export class LiveSocket implements SocketHandler {
  private readonly socket: ServerSocket
  private readonly services: LiveSocketServices
  private admitted = false
  private early: Array<Buffer> = []
  private readonly subscribed = new Set<string>()
  private remove: (() => void) | null = null
  private secondAt = 0
  private inSecond = 0
  private behind = false
  private checkedAt = 0

  constructor(socket: ServerSocket, services: LiveSocketServices) {
    this.socket = socket
    this.services = services
  }

  /** The caller was identified, and may listen. */
  admit(): void {
    if (this.socket.closed) return
    const { hub, makeId, now } = this.services
    this.admitted = true
    const backlog = hub.backlog()
    this.say({
      type: "welcome", version: VERSION, sessionId: makeId(), serverTime: new Date(now()).toISOString(), channels, backlog: backlog.length,
      data: backlog.map(frameOf)
    })
    this.checkedAt = now()
    this.remove = hub.add({ events: (events) => this.give(events), round: (at) => this.round(at) })
    for (const message of this.early.splice(0)) this.read(message)
  }

  message(data: Buffer, isBinary: boolean): void {
    if (!this.admitted) {
      if (this.early.length >= EARLY_MESSAGES || data.length > EARLY_BYTES) return this.socket.close(4008, "TOO_MUCH_BEFORE_AUTH")
      this.early.push(isBinary ? Buffer.alloc(0) : data)
      return
    }
    const now = this.services.now()
    if (now - this.secondAt >= SECOND_MS) {
      this.secondAt = now
      this.inSecond = 0
    }
    this.inSecond++
    if (this.inSecond <= MESSAGES_PER_SECOND) return this.read(isBinary ? Buffer.alloc(0) : data)
    // Said once a second: an answer to each would be as much again.
    if (this.inSecond === MESSAGES_PER_SECOND + 1) this.error("RATE_LIMITED", `At most ${MESSAGES_PER_SECOND} messages a second are read.`)
  }

  drained(): void {
    this.behind = false
  }

  leave(): void {
    this.socket.close(1001, "server is shutting down")
  }

  closed(): void {
    this.remove?.()
    this.services.over()
  }

  private read(data: Buffer): void {
    const message = Json.parseRecord(data.toString("utf8"))
    if (message === null) return this.error("PARSE_ERROR", "A message is a JSON object.")
    switch (message["type"]) {
      case "ping":
        return this.say({ type: "pong" })
      case "subscribe":
      case "unsubscribe": {
        const named = message["channels"]
        if (!Array.isArray(named) || !named.every(isChannel)) return this.error("UNKNOWN_CHANNEL", `The channels are ${channels.join(", ")}.`)
        for (const name of named) {
          if (message["type"] === "subscribe") this.subscribed.add(name)
          else this.subscribed.delete(name)
        }
        return
      }
      default:
        return this.error("UNKNOWN_TYPE", "A message has the type subscribe, unsubscribe or ping.")
    }
  }

  private give(events: ReadonlyArray<LiveEvent>): void {
    if (this.behind) {
      // Streams come first: a client that does not read is dropped, and connects again.
      this.socket.close(1013, "SLOW_CONSUMER")
      return
    }
    for (const event of events) if (this.subscribed.has(event.channel)) this.say(frameOf(event))
  }

  private round(now: number): void {
    if (now - this.checkedAt < RECHECK_MS) return
    this.checkedAt = now
    this.services.recheck()
  }

  private error(code: string, message: string): void {
    this.say({ type: "error", code, message })
  }

  private say(frame: unknown): void {
    if (!this.socket.send(JSON.stringify(frame)) && !this.socket.closed) this.behind = true
  }
}

const frameOf = ({ channel, data, event, node }: LiveEvent) => ({ type: "event", channel, event, data: { ...data, node } })
