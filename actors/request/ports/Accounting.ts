/** Turns usage into money, and text into tokens when an upstream gave no usage. Synchronous and bounded in time. */
import * as Context from "effect/Context"
import type { Usage } from "./Face.ts"
import type { Target } from "./Target.ts"
import type { Units } from "#schemas/records/Units.ts"

export class Accounting extends Context.Service<Accounting, {
  /** USD with at most 10 decimals; 0 when the target is unpriced. */
  readonly cost: (target: Target, usage: Usage, units: Units | null) => number
  /** Tokens of a text by the tokenizer; extrapolated beyond its time bound. */
  readonly estimate: (text: string) => number
}>()("gateway/ports/Accounting") {}
