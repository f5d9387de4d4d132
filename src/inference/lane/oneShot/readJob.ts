/** A job about a large answer without a conversation: it is read for the client in a thread. */
import * as Crypto from "node:crypto"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import * as Answers from "#src/inference/lane/bodies/answers.ts"
import type { RunJob } from "#src/inference/lane/bodies/jobs.ts"
import * as Codecs from "#src/wire/oneShot/codecs.ts"
import type { Elapsed, Wanted } from "#src/wire/oneShot/OneShotCodec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"
import * as Reading from "./reading.ts"

export interface Read extends Answers.ReadAnswer {
  readonly kind: Codecs.CodecName
  readonly family: TargetFamily
  readonly wanted: Omit<Wanted<RequestHead, unknown>, "estimate" | "elapsed" | "makeId">
  /** Tokens of the prompt, for a server that does not count them. */
  readonly estimated: number
  readonly elapsed: Elapsed
}

export const run: RunJob<Read, Answers.Said> = (job) =>
  Answers.read(job, Reading.dialectOf(Codecs.of(job.kind), job.family, { ...job.wanted, makeId: Crypto.randomUUID, estimate: () => job.estimated, elapsed: () => job.elapsed }))
