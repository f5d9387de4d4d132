/** The jobs about the large body of a token count. */
import type { Kind, Subject } from "#src/inference/lane/bodies/jobs.ts"
import type { CountingFormat, Sampled } from "./counting.ts"

export interface Count extends Subject {
  readonly format: CountingFormat
}

export interface Counter extends Subject {
  readonly format: CountingFormat
  readonly model: string
}

/** What is counted. */
export const count: Kind<Count, Sampled> = { module: new URL("./countJob.ts", import.meta.url).href }

/** What a provider's own counter is sent. */
export const counter: Kind<Counter, Uint8Array> = { module: new URL("./counterJob.ts", import.meta.url).href }
