/** A job about a large request for embeddings: its body in the words of a target's family, made in a thread. */
import { PublicError } from "#schemas/errors.ts"
import type { EmbeddingFamily } from "#schemas/wire/formats.ts"
import * as Jobs from "#src/inference/lane/bodies/jobs.ts"
import { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import * as Request from "#src/wire/embeddings/request.ts"

export interface Embed extends Jobs.Subject {
  /** Members that the path said. */
  readonly grown: Readonly<Record<string, unknown>>
  readonly family: EmbeddingFamily
  readonly model: string
}

export const run: Jobs.Run<Embed, Request.Encoded> = (job, parse) => {
  const parsed = parse(job)
  if (parsed instanceof PublicError) return parsed
  const prompt = new Prompt(Jobs.bufferOf(job), { ...parsed, ...job.grown })
  return Request.encode(job.family, prompt.body, prompt.parsed, job.model)
}
