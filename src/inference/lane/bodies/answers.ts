/**
 * Large answers of upstreams: read, translated and held against rules in the threads that read large bodies. What comes back is bytes and
 * small facts, never a tree.
 */
import type { AnswerFacts, AnswerQuestion, AnswerRead, Dialect, UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { AnswerCheck } from "#actors/request/ports/AnswerCheck.ts"
import * as AnswerReading from "#actors/request/steps/answerReading.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Units } from "#schemas/records/Units.ts"
import { LARGE_BYTES, LARGE_CONTAINERS } from "#schemas/largeBodies.ts"
import * as AnswerRules from "#src/routing/combos/answerRules.ts"
import * as JsonBounds from "#src/platform/structures/jsonBounds.ts"
import type { BodyWorkers } from "./BodyWorkers.ts"
import type { Kind, JobSubject } from "./jobs.ts"
import * as Jobs from "./jobs.ts"

/** Characters of an answer that stand for all of it where its tokens are estimated. */
const sampleCharacters = 32 * 1024
/** Characters of an error that is told; its own object is told only if it is no longer. */
const errorCharacters = 16 * 1024

/** A large answer, and what is asked of it. */
export interface ReadAnswer extends JobSubject {
  readonly asStream: boolean
  readonly forwardUsage: boolean
  /** Null = it may be anything. */
  readonly check: Pick<AnswerCheck, "rules"> | null
}

/** What was read. */
export interface Said {
  /** False: the bytes are no answer, and all else is empty. */
  readonly isAnswer: boolean
  /** Null = the bytes that came. */
  readonly body: Uint8Array | null
  readonly usage: AnswerFacts["usage"]
  readonly units: Units | null
  /** Null: JSON. */
  readonly contentType: string | null
  readonly error: UpstreamErrorBody | null
  /** The beginning of the model's text, and how long all of it is. */
  readonly sample: string
  readonly characters: number
  readonly broken: string | null
}

const none: Said = { isAnswer: false, body: null, usage: null, units: null, contentType: null, error: null, sample: "", characters: 0, broken: null }

/** In the thread. */
export const read = (job: ReadAnswer, dialect: Pick<Dialect, "readAnswer" | "replayAnswer" | "viewAnswer">): Said => {
  const bytes = Jobs.bufferOf(job)
  const facts = AnswerReading.factsOf(dialect, bytes, job.asStream, job.forwardUsage)
  if (facts === null) return none
  const text = facts.outputText()
  const broken = AnswerReading.brokenRuleOf(dialect, bytes, facts, job.check === null ? null : AnswerRules.checkOf(job.check.rules))
  return {
    isAnswer: true, body: facts.error !== null || isSame(facts.body, bytes) ? null : facts.body, usage: facts.usage,
    units: facts.units ?? null, contentType: facts.contentType ?? null,
    error: facts.error === null ? null : shortened(facts.error), sample: text.slice(0, sampleCharacters), characters: text.length, broken
  }
}

const isSame = (one: Uint8Array, other: Uint8Array): boolean => one.buffer === other.buffer && one.byteOffset === other.byteOffset && one.length === other.length

const shortened = ({ own, ...error }: UpstreamErrorBody): UpstreamErrorBody => ({
  ...error,
  message: error.message.slice(0, errorCharacters),
  ...(own === undefined || JSON.stringify(own).length > errorCharacters ? {} : { own })
})

/** Whether an answer is read in a thread. */
const isLarge = (body: Uint8Array): boolean => {
  if (body.length > LARGE_BYTES) return true
  const size = JsonBounds.measure(Buffer.from(body.buffer, body.byteOffset, body.byteLength))
  return "what" in size || size.containers > LARGE_CONTAINERS
}

/**
 * On the loop: asks a thread for a large answer; false when it is none. `jobOf` adds what the kind of job needs, `heard` hears of what was
 * read before `done` does; null = it could not be read.
 */
export const ask = <J extends ReadAnswer, S extends Said>(
  workers: BodyWorkers, kind: Kind<J, S>, { asStream, body, check, forwardUsage }: AnswerQuestion, jobOf: (common: ReadAnswer) => J,
  heard: (said: S | null) => void, done: AnswerRead
): boolean => {
  if (!isLarge(body)) return false
  const job = jobOf({ id: workers.nextId(), bytes: body, asStream, forwardUsage, check: check === null ? null : { rules: check.rules } })
  workers.ask(kind, job, (said) => {
    // What its thread could not read, for want of memory, is not readable.
    heard(said instanceof PublicError ? null : said)
    if (said instanceof PublicError || !said.isAnswer) done(null, null)
    else {
      const { broken, contentType, error, units, usage } = said
      done({ usage, units, error, body: said.body ?? body, ...(contentType === null ? {} : { contentType }), outputText: () => textOf(said) }, broken)
    }
  })
  return true
}

/** A text as long as the answer, for the estimate of its tokens. */
const textOf = ({ characters, sample }: Said): string =>
  sample.length === characters ? sample : sample.repeat(Math.ceil(characters / sample.length)).slice(0, characters)
