/** The jobs about pictures of large bodies. */
import type { Kind } from "#src/inference/lane/bodies/jobs.ts"
import type { RewrittenBody } from "#src/features/guardrails/requests/rewrittenBody.ts"
import type { Describe } from "./describedJob.ts"
import type { Asked } from "./questions.ts"
import type { AskAbout } from "./questionsJob.ts"

export const asking: Kind<AskAbout, Asked> = { module: new URL("./questionsJob.ts", import.meta.url).href }
export const describing: Kind<Describe, RewrittenBody> = { module: new URL("./describedJob.ts", import.meta.url).href }
