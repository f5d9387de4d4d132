/** The jobs of the guardrails about large bodies. */
import type { Kind } from "#src/inference/lane/bodies/jobs.ts"
import type { ScanBody, ScannedBody } from "./scanJob.ts"

export const scanning: Kind<ScanBody, ScannedBody> = { module: new URL("./scanJob.ts", import.meta.url).href }
