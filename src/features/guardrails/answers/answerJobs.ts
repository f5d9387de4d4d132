/** The jobs of the guardrails about large answers. */
import type { Kind } from "#src/inference/lane/bodies/jobs.ts"
import type { AnswerRead, ReadAnswer } from "./answerJob.ts"

export const answering: Kind<ReadAnswer, AnswerRead> = { module: new URL("./answerJob.ts", import.meta.url).href }
