/** What an attempt is given, and what it leaves: the values on both sides of one wire call. */
import type { AttemptRow } from "./AttemptRow.ts"
import type { AnswerCheck } from "#actors/request/ports/AnswerCheck.ts"
import type { Body } from "#actors/request/ports/Body.ts"
import type { Dialect, StreamTap, Usage } from "#actors/request/ports/Face.ts"
import type { Resumption } from "#actors/request/Resumption.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { UsageEstimate } from "#actors/request/client/UsageEstimate.ts"
import type { Phase, Timeouts } from "#actors/request/ports/Upstream.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Outcome } from "#schemas/records/LedgerRow.ts"
import type { Units } from "#schemas/records/Units.ts"

/** The client's side of a stream, as far as an attempt may touch it. */
export interface AttemptClient {
  /** Sends bytes that may be reused once it returns; false when the client is behind. */
  readonly relay: (chunk: Uint8Array) => boolean
  readonly onDrain: (listener: () => void) => void
}

export interface AttemptOptions {
  /** The attempt's start record, and its row once it is settled. */
  readonly start: AttemptRow
  readonly target: Target
  /** Forgotten when it was handed to the upstream. */
  body: Body
  readonly requestHeaders: ReadonlyArray<string>
  /** What is added to the target's path, with its `?` or `&`; mostly empty. */
  readonly query: string
  /** GET has no body. */
  readonly method: "GET" | "POST"
  readonly dialect: Dialect
  readonly stream: boolean
  /** Whether usage frames are forwarded to the client: only when it asked for them. */
  readonly forwardUsage: boolean
  /** Counts for that client what its upstream did not count; null where it did not ask. */
  readonly estimate: UsageEstimate | null
  readonly timeouts: Timeouts
  /** How long the first bytes of a stream are held before they are released (stream recovery), ms; 0 = not at all. */
  readonly holdMs: number
  /** Null unless an answer that breaks off is continued. */
  readonly resumption: Resumption | null
  /** Whether a whole answer may be given to the client; null = every answer. */
  readonly check: AnswerCheck | null
  /** The client already has a part of the answer, and this attempt continues it. */
  readonly continues: boolean
  readonly client: AttemptClient
  readonly now: () => number
}

/** What an attempt tells the one that began it: methods, because three closures per attempt cost a request 0.3 kB. */
export interface AttemptOwner {
  /** Content arrived that is still held back. */
  speaks(): void
  /** Sends status 200 and the headers of a stream: the commit point. */
  commit(): void
  /** The attempt is decided; called exactly once, last. */
  ended(end: AttemptEnd): void
}

/** How an attempt ended; `error` is what the client gets if no other target is tried. */
export interface AttemptEnd {
  readonly outcome: Outcome
  readonly error: PublicError | null
  /** True when another target may be tried: nothing reached the client and the failure is not the request's own. */
  readonly retryable: boolean
  readonly phase: Phase | null
  /** Media type of `answer`; null = JSON. */
  readonly contentType: string | null
  readonly upstreamStatus: number
  readonly usage: Usage | null
  /** What the answer says it used beside tokens; null when it does not say. */
  readonly units: Units | null
  /** The upstream counted the input only: the answer ended before it counted its output. */
  readonly usageIsPartial: boolean
  /** The gateway's own count, which the client was given where its upstream had none; null or absent: it was given none. */
  readonly estimate?: Usage | null
  readonly outputText: () => string
  readonly committed: boolean
  /** False when the attempt was refused before it started: it has no row in the ledger. */
  readonly opened: boolean
  /** True when a stream ended before the client got any of it, or its target may be asked in another way: the same connection may be asked once more. */
  readonly repeatable: boolean
  /** True when the answer was complete and the combo's rules refused it: the next target may do better. */
  readonly rejected: boolean
  /** True when the format's last frame was forwarded. */
  readonly terminated: boolean
  /** The stream's tap; null before a stream began. */
  readonly tap: StreamTap | null
  /** Body bytes given to the client. */
  readonly bytesOut: number
  /** A whole answer, when the attempt succeeded without streaming. */
  readonly answer: Uint8Array | null
  readonly firstContentAt: number | null
  /** The request was on a connection; null when it never was. */
  readonly sentAt: number | null
  /** The head of the answer came. */
  readonly headAt: number | null
  readonly endedAt: number
  /** Upstream response headers, flat; empty before the head. */
  readonly headers: ReadonlyArray<string>
}
