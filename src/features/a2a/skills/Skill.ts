/** What the gateway can be asked to do by another agent. */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Json } from "#src/management/inner/Inner.ts"
import { type Artifact, type A2aTask, Fault } from "#src/features/a2a/ports/A2aTask.ts"

/** What every result says about its making. */
export interface ResultMetadata {
  readonly routing_explanation: string
  readonly cost_envelope: { readonly estimated: number | null; readonly actual: number | null; readonly currency: "USD" }
  readonly resilience_trace: ReadonlyArray<{ readonly event: string; readonly provider: string; readonly timestamp: string }>
  readonly policy_verdict: { readonly allowed: boolean; readonly reason: string }
}

export interface SkillResult {
  readonly artifacts: ReadonlyArray<Artifact>
  readonly metadata: Readonly<Record<string, Json>>
}

/** Expected: the agent reads it. */
export class SkillFailure extends Schema.TaggedError<SkillFailure>()("SkillFailure", {
  fault: Fault,
  metadata: Schema.Record(Schema.String, Schema.Json)
}) {}

export interface SkillRun {
  readonly task: A2aTask
  /** A piece of the answer, which readers see at once. */
  readonly onText: (text: string) => void
  readonly textSoFar: () => string
}

/** A skill for one caller. */
export interface Skilled {
  readonly run: (run: SkillRun) => Effect.Effect<SkillResult, SkillFailure>
}

/** As metadata of a record. */
export const metadataOf = ({ cost_envelope, policy_verdict, resilience_trace, routing_explanation }: ResultMetadata): Readonly<Record<string, Json>> => ({
  routing_explanation, cost_envelope: { ...cost_envelope }, resilience_trace: resilience_trace.map((event) => ({ ...event })), policy_verdict: { ...policy_verdict }
})
