/** A job about a large request without a conversation: its body in the words of a target's family, made in a thread. */
import { PublicError } from "#schemas/errors.ts"
import type { OneShotKind, TargetFamily } from "#schemas/wire/formats.ts"
import * as Jobs from "#src/inference/lane/bodies/jobs.ts"
import { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import * as Codecs from "#src/wire/oneShot/codecs.ts"
import type { Encoded } from "#src/wire/oneShot/OneShotCodec.ts"

export interface Encode extends Jobs.JobSubject {
  /** Members that the path said. */
  readonly grown: Readonly<Record<string, unknown>>
  readonly kind: OneShotKind
  readonly family: TargetFamily
  readonly model: string
}

export const run: Jobs.RunJob<Encode, Encoded<unknown>> = (job, parse) => {
  const parsed = parse(job)
  if (parsed instanceof PublicError) return parsed
  const prompt = new Prompt(Jobs.bufferOf(job), { ...parsed, ...job.grown })
  return Codecs.of(job.kind).encode(job.family, { bytes: prompt.body, parsed: prompt.parsed, form: null, model: job.model })
}
