/** A job about a large answer with embeddings: it is read for the client in a thread. */
import type { EmbeddingFamily } from "#schemas/wire/formats.ts"
import * as Answers from "#src/inference/lane/bodies/answers.ts"
import type { Run } from "#src/inference/lane/bodies/jobs.ts"
import type { Wanted } from "#src/wire/embeddings/answer.ts"
import { dialectOf } from "./reading.ts"

export interface EmbedAnswer extends Answers.ReadAnswer {
  readonly family: EmbeddingFamily
  readonly wanted: Omit<Wanted, "estimate">
  /** Tokens of the input, for a server that does not count them. */
  readonly estimated: number
}

export const run: Run<EmbedAnswer, Answers.Said> = (job) => Answers.read(job, dialectOf(job.family, { ...job.wanted, estimate: () => job.estimated }))
