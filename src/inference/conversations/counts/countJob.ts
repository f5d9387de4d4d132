import { PublicError } from "#schemas/errors.ts"
import type { RunJob } from "#src/inference/lane/bodies/jobs.ts"
import type { Count } from "./countJobs.ts"
import * as Counting from "./counting.ts"

export const run: RunJob<Count, Counting.Sampled> = (job, parse) => {
  const body = parse(job)
  return body instanceof PublicError ? body : Counting.read(job.format, body, job.systemPrompt)
}
