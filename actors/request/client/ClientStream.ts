/**
 * The client's side of a streamed answer: what is written, and what the gateway sends while the upstream is silent.
 *
 * Chunks cost nothing here: a write leaves a mark, and `beat`, called a few times a second for every live stream, turns marks into
 * times. Heartbeats and progress frames are written between whole events, because taps forward whole events only.
 */
import type { Face, Identity } from "#actors/request/ports/Face.ts"
import type { ProgressFrames } from "./ProgressFrames.ts"

/** The response as a client stream needs it. */
export interface StreamResponse {
  readonly start: (status: number, headers: ReadonlyArray<string>) => void
  readonly relay: (chunk: Uint8Array) => boolean
  readonly onDrain: (listener: () => void) => void
  readonly end: (chunk?: Uint8Array | string) => void
}

export interface Pulse {
  /** A stream gets a heartbeat after this silence, ms; 0 = none. */
  readonly heartbeatMs: number
  /** After this silence of the upstream the response's head is sent ahead of its content, ms; 0 = never. */
  readonly earlyMs: number
}

/** Between two heartbeats before the first content, ms. */
const earlyHeartbeatMs = 1_500
/** Chunks that are searched for the stream's identity: it is in the first events or nowhere. */
const searchedChunks = 4

export class ClientStream {
  /** The response's head was sent. */
  started = false
  private readonly client: StreamResponse
  private readonly face: Face
  private readonly pulse: Pulse
  /** Null for a client that did not ask for them. */
  private readonly progress: ProgressFrames | null
  private readonly beganAt: number
  private wrote = false
  private hasContent = false
  private behind = false
  private quietSince: number
  /** What heartbeats say of this stream, once its first events said it. */
  private identity: Identity | null = null
  private unsearched: number

  constructor(client: StreamResponse, face: Face, pulse: Pulse, progress: ProgressFrames | null, now: number) {
    this.client = client
    this.face = face
    this.pulse = pulse
    this.progress = progress
    this.beganAt = now
    this.quietSince = now
    this.unsearched = face.identityIn === null ? 0 : searchedChunks
  }

  /** Sends the head, unless it went ahead. */
  start(headers: ReadonlyArray<string>): void {
    if (this.started) return
    this.client.start(200, headers)
    this.started = true
  }

  relay(chunk: Uint8Array): boolean {
    this.wrote = true
    this.hasContent = true
    if (this.unsearched > 0) this.identify(chunk)
    const taken = this.client.relay(this.progress === null ? chunk : this.progress.within(chunk))
    this.behind = !taken
    return taken
  }

  onDrain(listener: () => void): void {
    this.client.onDrain(() => {
      this.behind = false
      listener()
    })
  }

  end(chunk?: Uint8Array): void {
    const { progress } = this
    if (progress === null) {
      this.client.end(chunk)
      return
    }
    if (chunk !== undefined) this.client.relay(progress.within(chunk))
    this.client.end(progress.last())
  }

  /** Called a few times a second; `head` answers the headers of a response that starts before its upstream did. */
  beat(now: number, head: () => ReadonlyArray<string>): void {
    if (this.wrote) {
      this.wrote = false
      this.quietSince = now
    }
    if (!this.started) {
      if (this.pulse.earlyMs === 0 || now - this.beganAt < this.pulse.earlyMs) return
      this.start(head())
      this.say(this.face.heartbeat(new Date(now), null), now)
      return
    }
    if (this.behind) return
    const frame = this.progress === null ? null : this.progress.due(now)
    if (frame !== null) {
      this.say(frame, now)
      return
    }
    const interval = this.hasContent || this.pulse.heartbeatMs === 0 ? this.pulse.heartbeatMs : Math.min(earlyHeartbeatMs, this.pulse.heartbeatMs)
    if (interval > 0 && now - this.quietSince >= interval) this.say(this.face.heartbeat(new Date(now), this.identity), now)
  }

  private identify(chunk: Uint8Array): void {
    this.identity = this.face.identityIn?.(chunk) ?? null
    this.unsearched = this.identity === null ? this.unsearched - 1 : 0
  }

  private say(frame: Uint8Array, now: number): void {
    this.quietSince = now
    if (frame.length > 0) this.behind = !this.client.relay(frame)
  }
}
