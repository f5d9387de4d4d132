/** A job about a large answer that is no stream: the guardrails read it in a thread. */
import { PublicError } from "#schemas/errors.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as Jobs from "#src/inference/lane/bodies/jobs.ts"
import type { Report } from "#src/features/guardrails/Reading.ts"
import type { Rules } from "#src/features/guardrails/rules.ts"
import { answerOf, AnswerReading } from "./AnswerReading.ts"

export interface ReadAnswer extends Jobs.JobSubject {
  readonly format: FormatName
  readonly modes: Rules["answers"]
}

export interface AnswerRead {
  readonly reports: ReadonlyArray<Report>
  /** Null when it stays. */
  readonly bytes: Uint8Array | null
}

export const run: Jobs.RunJob<ReadAnswer, AnswerRead> = (job, parse) => {
  const answer = parse(job)
  if (answer instanceof PublicError) return answer
  const bytes = Jobs.bufferOf(job)
  const reading = new AnswerReading(job.modes)
  const left = answerOf(reading, job.format, bytes, answer)
  return { reports: reading.reports, bytes: left === bytes ? null : left }
}
