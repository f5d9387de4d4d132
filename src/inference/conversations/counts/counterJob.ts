import { PublicError } from "#schemas/errors.ts"
import type { Run } from "#src/inference/lane/bodies/jobs.ts"
import type { Counter } from "./countJobs.ts"
import * as Counting from "./counting.ts"

export const run: Run<Counter, Uint8Array> = (job, parse) => {
  const body = parse(job)
  return body instanceof PublicError ? body : Counting.counterBody(job.format, body, job.model)
}
