/**
 * Subscriptions to channels over one dedicated connection. The list of channels is kept here: after a break everything is
 * subscribed again, and only then each listener is notified of the gap, so that what it reads then is not outdated by a lost
 * message.
 */
import type { Redis } from "ioredis"
import type { Ticker } from "#actors/Ticker.ts"

export interface ChannelListener {
  readonly message: (text: string) => void
  readonly gap: () => void
}

/** How often a silent connection is asked whether it lives, and how long it may take to say so, ms. */
const PULSE_EVERY_MS = 2_000
const PULSE_WITHIN_MS = 1_500

interface Channel {
  readonly listeners: Set<ChannelListener>
  /** Done when the server has confirmed the channel, or cannot now. */
  confirmed: Promise<void>
}

export class Subscriptions {
  readonly #redis: Redis
  readonly #channels = new Map<string, Channel>()
  readonly #stopPulse: () => void
  readonly #failed: (what: string, error: unknown) => void
  #wanted = 0

  /** `failed` is called with the exception of a listener. */
  constructor(redis: Redis, pulse: Ticker, failed: (what: string, error: unknown) => void) {
    this.#redis = redis
    this.#failed = failed
    redis.on("message", (channel: string, text: string) => {
      for (const listener of this.#channels.get(channel)?.listeners ?? []) this.#tell(channel, () => listener.message(text))
    })
    redis.on("ready", () => {
      const channels = [...this.#channels.keys()]
      if (channels.length > 0) void this.#subscribe(channels, true)
    })
    this.#stopPulse = pulse.every(PULSE_EVERY_MS, () => this.#ask())
  }

  /** Returns once the channel is subscribed; without a server at once, and `gap` is called when it is. */
  add(channel: string, listener: ChannelListener): Promise<void> {
    const known = this.#channels.get(channel)
    if (known !== undefined) {
      known.listeners.add(listener)
      return known.confirmed
    }
    const added: Channel = { listeners: new Set([listener]), confirmed: Promise.resolve() }
    this.#channels.set(channel, added)
    if (this.#redis.status === "ready") added.confirmed = this.#subscribe([channel], false)
    return added.confirmed
  }

  remove(channel: string, listener: ChannelListener): void {
    const listeners = this.#channels.get(channel)?.listeners
    if (listeners === undefined) return
    listeners.delete(listener)
    if (listeners.size > 0) return
    this.#channels.delete(channel)
    if (this.#redis.status === "ready") this.#redis.unsubscribe(channel).catch(() => undefined)
  }

  close(): void {
    this.#stopPulse()
  }

  async #subscribe(channels: ReadonlyArray<string>, again: boolean): Promise<void> {
    try {
      await this.#redis.subscribe(...channels)
    } catch {
      // The connection broke meanwhile, and the next one subscribes; a refusal of the server is met with a new connection.
      if (this.#redis.status === "ready") this.#redis.disconnect(true)
      return
    }
    if (!again) return
    for (const channel of channels) {
      for (const listener of this.#channels.get(channel)?.listeners ?? []) this.#tell(channel, listener.gap)
    }
  }

  /** A connection whose other end vanished without a word looks like a quiet one. */
  #ask(): void {
    if (this.#redis.status !== "ready") return
    const asked = ++this.#wanted
    let answered = false
    this.#redis.ping().then(() => {
      answered = true
    }, () => {
      answered = true
    })
    setTimeout(() => setImmediate(() => {
      if (!answered && asked === this.#wanted && this.#redis.status === "ready") this.#redis.disconnect(true)
    }), PULSE_WITHIN_MS).unref()
  }

  #tell(channel: string, what: () => void): void {
    try {
      what()
    } catch (error) {
      this.#failed(channel, error)
    }
  }
}
