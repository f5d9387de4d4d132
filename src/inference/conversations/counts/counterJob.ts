import { PublicError } from "#schemas/errors.ts"
import type { RunJob } from "#src/inference/lane/bodies/jobs.ts"
import type { CounterJob } from "./countJobs.ts"
import * as Counting from "./counting.ts"

export const run: RunJob<CounterJob, Uint8Array> = (job, parse) => {
  const body = parse(job)
  return body instanceof PublicError ? body : Counting.counterBody(job.format, body, job.model, job.systemPrompt)
}
