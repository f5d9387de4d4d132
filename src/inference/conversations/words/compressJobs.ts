/** The job about the texts of a body: which of them are said shorter. */
import type { FormatName } from "#schemas/wire/conversation.ts"
import type { Compressed } from "#src/compression/compress.ts"
import type { Plan } from "#src/compression/plan.ts"
import type { JobSubject, Kind } from "#src/inference/lane/bodies/jobs.ts"

export interface CompressJob extends JobSubject {
  readonly format: FormatName
  readonly plan: Plan
}

export const compressing: Kind<CompressJob, Compressed> = { module: new URL("./compressJob.ts", import.meta.url).href }
