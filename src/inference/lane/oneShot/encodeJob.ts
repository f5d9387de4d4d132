/** A job about a large request without a conversation: its body in the words of a target's family, made in a thread. */
import { PublicError } from "#schemas/errors.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import * as Jobs from "#src/inference/lane/bodies/jobs.ts"
import { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import * as Codecs from "#src/wire/oneShot/codecs.ts"
import type { Encoded, FetchedMedium, MediaWish } from "#src/wire/oneShot/OneShotCodec.ts"

export interface Encode extends Jobs.JobSubject {
  /** Members that the path said. */
  readonly grown: Readonly<Record<string, unknown>>
  readonly kind: Codecs.CodecName
  readonly family: TargetFamily
  readonly model: string
  readonly modalities: ReadonlyArray<string> | null
  readonly dimensions: number | null
  /** When it was asked, ms since the epoch. */
  readonly now: number
  /** The media that were fetched; absent before. */
  readonly media?: ReadonlyArray<FetchedMedium>
}

/** What has to be fetched before the body can be made. */
export interface Wants {
  readonly wants: MediaWish
}

export const run: Jobs.RunJob<Encode, Encoded<unknown> | Wants> = (job, parse) => {
  const parsed = parse(job)
  if (parsed instanceof PublicError) return parsed
  const prompt = new Prompt(Jobs.bufferOf(job), { ...parsed, ...job.grown })
  const codec = Codecs.of(job.kind)
  const asked = { bytes: prompt.body, parsed: prompt.parsed, form: null, model: job.model, modalities: job.modalities, media: job.media, now: job.now, dimensions: job.dimensions }
  const wants = job.media === undefined ? codec.media?.(job.family, asked) : undefined
  if (wants instanceof PublicError) return wants
  return wants !== undefined && wants.remote.length > 0 ? { wants } : codec.encode(job.family, asked)
}
