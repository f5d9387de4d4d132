/** A job of an upstream that one attempt asks for until it is over: where and when it is asked next, and why it is given up. */
import type { Dialect, JobReply } from "#actors/request/ports/Face.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Outcome } from "#schemas/records/LedgerRow.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as AttemptFailure from "./attemptFailure.ts"

/** Why a job that is not over is asked for no longer. */
export interface GivenUp {
  readonly outcome: Outcome
  readonly error: PublicError
}

/** Asks for the job on the target's own origin. */
export type Ask = (method: "GET" | "POST", path: string, body: Uint8Array | null) => void

/** Members of the first call that say what its body is. */
const ofBody: ReadonlySet<string> = new Set(["content-type", "content-length"])

/** The first call's headers for a question about its job, which is JSON where it has a body. */
export const headersOf = (headers: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...headers.filter((_, i) => !ofBody.has(headers[i - i % 2] as string)), "content-type", "application/json"]

export class Job {
  readonly #target: Target
  readonly #now: () => number
  readonly #ask: Ask
  #polls = 0
  /** Questions in a row that were refused. */
  #failures = 0
  /** Where was asked last: addresses of the upstream may be relative to it. */
  #path: string
  /** What was asked last ordered something: it is not asked for twice. */
  #orders = true
  #startedAt = 0
  #timer: ReturnType<typeof setTimeout> | null = null

  constructor(target: Target, now: () => number, ask: Ask) {
    this.#target = target
    this.#path = target.path
    this.#now = now
    this.#ask = ask
  }

  /** Asks again when the reply says that the job is not over. Null: the reply is the last one. */
  next({ pollOf }: Pick<Dialect, "pollOf">, reply: Pick<JobReply, "status" | "headers" | "body">): "asks" | GivenUp | null {
    if (pollOf === undefined) return null
    if (this.#polls === 0) this.#startedAt = this.#now()
    const fails = !isReply(reply) || StatusReason.isError(reply.status)
    if (fails && this.#orders) return null
    this.#failures = fails ? this.#failures + 1 : 0
    const poll = pollOf({ ...reply, polls: this.#polls, failures: this.#failures, elapsedMs: this.#now() - this.#startedAt })
    if (poll === null) return null
    if ("code" in poll) return { outcome: "gateway-timeout", error: poll }
    const path = poll.url === null ? this.#path : pathOnOrigin(poll.url, this.#path, this.#target)
    if (path === null) return { outcome: "parse-error", error: AttemptFailure.malformed(this.#target) }
    const { body = null } = poll
    this.#polls++
    this.#path = path
    this.#orders = body !== null
    this.#timer = setTimeout(() => this.#ask(body === null ? "GET" : "POST", path, body), poll.afterMs)
    return "asks"
  }

  /** The same where the question was not answered: a job that is paid for outlives a short failure. */
  nextWithoutReply(dialect: Pick<Dialect, "pollOf">): "asks" | GivenUp | null {
    return this.next(dialect, noReply)
  }

  /** It is not asked for any longer. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }
}

const noReply: Pick<JobReply, "status" | "headers" | "body"> = { status: 0, headers: [], body: new Uint8Array(0) }

const isReply = ({ status }: Pick<JobReply, "status">): boolean => StatusReason.of(status) !== "none"

/** Path and query of an address that an upstream named; null when it is not on the target's own origin, where the credential belongs. */
const pathOnOrigin = (address: string, last: string, { origin }: Pick<Target, "origin">): string | null => {
  const base = `${origin}${last}`
  const url = URL.canParse(address, base) ? new URL(address, base) : null
  return url === null || url.origin !== origin ? null : url.pathname + url.search
}
