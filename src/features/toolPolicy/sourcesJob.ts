/** A job about a large request: its tools are read in a thread, because its outline may hold the last one only. */
import { PublicError } from "#schemas/errors.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import type * as Jobs from "#src/inference/lane/bodies/jobs.ts"
import * as Sources from "./sources.ts"

export interface Question extends Jobs.JobSubject {
  readonly format: FormatName
}

export const run: Jobs.RunJob<Question, Sources.Sources> = (job, parse) => {
  const body = parse(job)
  return body instanceof PublicError ? body : Sources.of(job.format, body)
}
