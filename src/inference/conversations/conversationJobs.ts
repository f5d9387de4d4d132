/** The jobs about large bodies of conversations: a request in its target's words, and an answer in its client's. */
import type { Kind } from "#src/inference/lane/bodies/jobs.ts"
import type { Answered, Answering } from "./answering.ts"
import type { EncodeJob, EncodedBody } from "./encodeJob.ts"

export type { PartSaid, PartWanted } from "./answering.ts"
export type { EncodedBody } from "./encodeJob.ts"

export const answering: Kind<Answering, Answered> = { module: new URL("./answering.ts", import.meta.url).href }
export const speaking: Kind<EncodeJob, EncodedBody> = { module: new URL("./encodeJob.ts", import.meta.url).href }
