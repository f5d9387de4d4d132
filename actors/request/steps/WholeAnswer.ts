/** The answer of one attempt that is no stream: kept until it has ended, then read, held against the rules of its combo and judged. */
import { SharedBytes } from "#actors/SharedBytes.ts"
import type { AnswerFacts, UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import { headerOf } from "#actors/request/ports/Upstream.ts"
import type { PublicError } from "#schemas/errors.ts"
import { LARGE_BYTES, QUICK_BYTES } from "#schemas/largeBodies.ts"
import type { Outcome } from "#schemas/records/LedgerRow.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as AnswerReading from "./answerReading.ts"
import * as AttemptFailure from "./attemptFailure.ts"
import type { AttemptOptions } from "./attemptValues.ts"
import { joinBytes, unmarked } from "./bytes.ts"
import { type Ask, Job } from "./Job.ts"
import * as SpokenError from "#actors/request/spokenError.ts"

/** Largest whole (not streamed) answer. An error that is large is judged by its status alone. */
const maxAnswerBytes = 64 * 1024 * 1024

const nothing: ReadonlyArray<Uint8Array> = []

/** The attempt that the answer is for. */
export interface Answered {
  readonly options: AttemptOptions
  readonly ended: boolean
  readonly status: number
  /** Of the upstream, flat. */
  readonly headers: ReadonlyArray<string>
  /** What a failed reply is judged by, but its body. */
  readonly reply: Omit<AttemptFailure.FailedReply, "body">
  abort(): void
  /** Asks its upstream for the job again. */
  ask(...question: Parameters<Ask>): void
  fail(outcome: Outcome, error: PublicError, retryable: boolean): void
  /** The answer breaks a rule of its combo. */
  reject(rule: string, facts: AnswerFacts): void
  succeed(facts: AnswerFacts): void
}

export class WholeAnswer {
  readonly #attempt: Answered
  /** The first chunk, and mostly the only one. */
  #first: Uint8Array | null = null
  /** All of them, once there are several. */
  #held: Array<Uint8Array> | null = null
  #bytes = 0
  #large: SharedBytes | null = null
  /** Null unless the upstream answers with jobs. */
  #job: Job | null = null

  constructor(attempt: Answered) {
    this.#attempt = attempt
  }

  /** The answer is a job's, and was asked for by it. */
  get isOfJob(): boolean {
    return this.#job !== null
  }

  /** The bytes are borrowed. */
  push(chunk: Uint8Array): void {
    const attempt = this.#attempt
    this.#bytes += chunk.length
    if (this.#bytes <= LARGE_BYTES) this.#hold(Buffer.from(chunk))
    else if (!StatusReason.isOk(attempt.status)) {
      attempt.abort()
      this.#failWithStatus(null)
    } else if (this.#bytes > maxAnswerBytes) {
      attempt.abort()
      attempt.fail("parse-error", AttemptFailure.tooLarge(attempt.options.target, maxAnswerBytes), !attempt.options.continues)
    } else (this.#large ??= this.#beginLarge(attempt.headers)).append(chunk)
  }

  end(): void {
    const { options: { check, dialect, forwardUsage, stream }, status } = this.#attempt
    const body = unmarked(this.#large === null ? this.#joined() : this.#large.bytes)
    this.#forget()
    if (dialect.pollOf !== undefined && this.#asksAgain(body)) return
    if (!StatusReason.isOk(status)) {
      this.#failWithStatus(dialect.readError(body) ?? SpokenError.read(body, this.#attempt.headers))
      return
    }
    if (body.length >= QUICK_BYTES && dialect.readElsewhere !== undefined) {
      if (dialect.readElsewhere({ body, asStream: stream, forwardUsage, check }, (facts, broken) => this.#judge(facts, broken))) return
    }
    const facts = AnswerReading.factsOf(dialect, body, stream, forwardUsage)
    this.#judge(facts, AnswerReading.brokenRuleOf(dialect, body, facts, check))
  }

  /** The question for a job was not answered: the attempt asks again, or gives the job up. False where it is no job's. */
  asksAgain(): boolean {
    if (this.#job === null) return false
    this.#forget()
    return this.#asksAgain(null)
  }

  /** The attempt is decided: nothing is kept, and no job is asked for. */
  close(): void {
    this.#forget()
    this.#job?.stop()
  }

  #hold(copy: Uint8Array): void {
    if (this.#first === null) this.#first = copy
    else if (this.#held === null) this.#held = [this.#first, copy]
    else this.#held.push(copy)
  }

  get #chunks(): ReadonlyArray<Uint8Array> {
    return this.#held ?? (this.#first === null ? nothing : [this.#first])
  }

  #joined(): Uint8Array {
    return this.#held === null && this.#first !== null ? this.#first : joinBytes(this.#chunks, this.#bytes)
  }

  #forget(): void {
    this.#first = null
    this.#held = null
    this.#bytes = 0
    this.#large = null
  }

  #beginLarge(headers: ReadonlyArray<string>): SharedBytes {
    const declared = Number(headerOf(headers, "content-length")) || 0
    // A length below what came already is no length.
    const large = new SharedBytes(declared >= this.#bytes ? Math.min(declared, maxAnswerBytes) : null)
    for (const chunk of this.#chunks) large.append(chunk)
    this.#first = null
    this.#held = null
    return large
  }

  /** The reply says that its job is not over, or none came (null): the same attempt asks for it again, or gives it up. */
  #asksAgain(body: Uint8Array | null): boolean {
    const attempt = this.#attempt
    const { options: { dialect, now, target }, headers, status } = attempt
    const job = this.#job ??= new Job(target, now, (method, path, question) => attempt.ask(method, path, question))
    const next = body === null ? job.nextWithoutReply(dialect) : job.next(dialect, { status, headers, body })
    if (next !== null && next !== "asks") attempt.fail(next.outcome, next.error, false)
    return next !== null
  }

  #failWithStatus(body: UpstreamErrorBody | null): void {
    const attempt = this.#attempt
    attempt.fail("upstream-status", AttemptFailure.ofStatus({ ...attempt.reply, body }), !StatusReason.isRequests(attempt.status))
  }

  /** `broken`: the rule that the answer breaks. The attempt may have been cut while it was read. */
  #judge(facts: AnswerFacts | null, broken: string | null): void {
    const attempt = this.#attempt
    if (attempt.ended) return
    const { continues, stream, target } = attempt.options
    // A whole answer cannot continue a partial one.
    if (facts === null || (stream && continues)) attempt.fail("parse-error", AttemptFailure.malformed(target), true)
    else if (facts.error !== null) {
      const error = AttemptFailure.inStream({ ...attempt.reply, body: facts.error })
      attempt.fail("upstream-status", error, error.source !== "client")
    } else if (broken !== null) attempt.reject(broken, facts)
    else attempt.succeed(facts)
  }
}
