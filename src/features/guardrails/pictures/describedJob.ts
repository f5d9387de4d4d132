/** A job about a large request: texts take the places of its pictures. */
import { PublicError } from "#schemas/errors.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as Jobs from "#src/inference/lane/bodies/jobs.ts"
import * as RewrittenBody from "#src/features/guardrails/requests/rewrittenBody.ts"
import * as Questions from "./questions.ts"

export interface Describe extends Jobs.JobSubject {
  readonly format: FormatName
  /** One for each picture. */
  readonly texts: ReadonlyArray<string>
}

export const run: Jobs.RunJob<Describe, RewrittenBody.RewrittenBody> = (job, parse) => {
  const body = parse(job)
  if (body instanceof PublicError) return body
  const described = Questions.described(Jobs.bufferOf(job), body, job.texts)
  return RewrittenBody.of(job.format, described.bytes, described.body)
}
