/** A job about a large request: what it says of its task is read in a thread. */
import { PublicError } from "#schemas/errors.ts"
import type * as Jobs from "#src/inference/lane/bodies/jobs.ts"
import * as Reading from "#src/routing/tasks/reading.ts"

export const run: Jobs.RunJob<Jobs.JobSubject, Reading.Said> = (job, parse) => {
  const body = parse(job)
  return body instanceof PublicError ? body : Reading.read(body)
}
