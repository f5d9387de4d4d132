/** A job about a large request: what is asked about its pictures. */
import { PublicError } from "#schemas/errors.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as Jobs from "#src/inference/lane/bodies/jobs.ts"
import type { Bridge } from "./bridge.ts"
import * as Questions from "./questions.ts"

export interface AskAbout extends Jobs.JobSubject {
  readonly format: FormatName
  readonly bridge: Bridge
}

export const run: Jobs.RunJob<AskAbout, Questions.Asked> = (job, parse) => {
  const body = parse(job)
  if (body instanceof PublicError) return body
  const { places, questions } = Questions.of(job.format, job.bridge, body)
  return { places, questions: questions.map((question) => ({ ...question, body: Jobs.sharedCopyOf(question.body) })) }
}
