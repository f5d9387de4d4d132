/** In a thread: the texts of a body that are said shorter. */
import { PublicError } from "#schemas/errors.ts"
import * as Compress from "#src/compression/compress.ts"
import * as Identity from "#src/inference/lane/bodies/identity.ts"
import type { RunJob } from "#src/inference/lane/bodies/jobs.ts"
import type { CompressJob } from "./compressJobs.ts"

export const run: RunJob<CompressJob, Compress.Compressed> = (job, parse) => {
  const body = parse(job)
  return body instanceof PublicError ? body : Compress.ofBody(job.plan, job.format, body, Identity.nameOf)
}
