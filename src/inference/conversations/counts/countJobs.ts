/** The jobs about the large body of a token count. */
import type { Kind, JobSubject } from "#src/inference/lane/bodies/jobs.ts"
import type { SystemPrompt } from "#src/inference/conversations/words/systemPrompt.ts"
import type { CountingFormat, Sampled } from "./counting.ts"

export interface Count extends JobSubject {
  readonly systemPrompt: SystemPrompt | null
  readonly format: CountingFormat
}

export interface CounterJob extends JobSubject {
  readonly systemPrompt: SystemPrompt | null
  readonly format: CountingFormat
  readonly model: string
}

/** What is counted. */
export const count: Kind<Count, Sampled> = { module: new URL("./countJob.ts", import.meta.url).href }

/** What a provider's own counter is sent. */
export const counter: Kind<CounterJob, Uint8Array> = { module: new URL("./counterJob.ts", import.meta.url).href }
