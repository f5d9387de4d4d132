/** A job about a large answer to a conversation: it is read for the client's format in a thread. */
import * as Instructions from "#actors/ensemble/instructions.ts"
import type { FormatName, Signature } from "#schemas/wire/conversation.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import * as Answers from "#src/inference/lane/bodies/answers.ts"
import * as Jobs from "#src/inference/lane/bodies/jobs.ts"
import { makeResponseId } from "#src/inference/lane/services/responseId.ts"
import { answerIn } from "#src/wire/longIntegers/answerIn.ts"
import { hearing } from "#src/wire/chatCompletions/stream/hearing.ts"
import * as Dialects from "#src/wire/dialects.ts"
import * as Formats from "#src/wire/formats.ts"
import type { Restored } from "#src/wire/neutral/ToolNames.ts"

/** The answer is one of several: what else is wanted of it. */
export interface PartWanted {
  /** The stream that it would be; null = the client does not stream. */
  readonly stream: { readonly request: Readonly<Record<string, unknown>>; readonly includeUsage: boolean } | null
}

export interface Answering extends Answers.ReadAnswer {
  readonly face: FormatName
  readonly family: TargetFamily
  /** The canonical id that the answer names. */
  readonly model: string
  readonly tools: Restored | null
  /** What an answer repeats of its request. */
  readonly request: Readonly<Record<string, unknown>>
  /** Seconds since the epoch. */
  readonly now: number
  readonly part: PartWanted | null
  /** The thoughts of its calls are kept. */
  readonly hears: boolean
}

/** What another model may read of an answer. */
export interface PartSaid {
  readonly text: string
  /** How long it is, characters; `text` is cut when that is too much. */
  readonly characters: number
  readonly stream: Uint8Array | null
  /** Its provider said what it used. */
  readonly isCounted: boolean
}

export interface Answered extends Answers.Said {
  /** Signed tool calls that the client's format has no field for, with their signatures. */
  readonly signatures: ReadonlyArray<readonly [callId: string, signature: Signature]>
  readonly part: PartSaid | null
  /** Calls with the thoughts before them. */
  readonly thoughts: ReadonlyArray<readonly [callIds: ReadonlyArray<string>, reasoning: string]>
}

export const run: Jobs.RunJob<Answering, Answered> = (job) => {
  const signatures: Array<readonly [string, Signature]> = []
  const thoughts: Array<readonly [ReadonlyArray<string>, string]> = []
  const plain = Formats.family(job.family)
  const family = job.hears ? hearing(plain, (callIds, reasoning) => void thoughts.push([callIds, reasoning])) : plain
  const codec = Formats.client(job.face)
  const common = { model: job.model, makeId: makeResponseId, now: () => job.now }
  const dialect = Formats.dialectOf(codec, family, {
    ...common, request: job.request, tools: job.tools, remember: (callId, signature) => void signatures.push([callId, signature])
  })
  const said = Answers.read(job, dialect)
  return { ...said, signatures, thoughts, part: job.part === null || !said.isAnswer || said.error !== null ? null : partOf(job, job.part, common) }
}

const partOf = (job: Answering, { stream }: PartWanted, common: Pick<Dialects.Options, "model" | "makeId" | "now">): PartSaid | null => {
  const answer = answerIn(Formats.family(job.family), Jobs.bufferOf(job))
  if (answer === null || !("choices" in answer)) return null
  const text = Instructions.textOf(answer)
  return {
    text: text.slice(0, Instructions.longestText), characters: text.length, isCounted: answer.usage !== null,
    stream: stream === null ? null : Buffer.from(Dialects.streamOf(answer, Formats.client(job.face), { ...common, ...stream }))
  }
}

