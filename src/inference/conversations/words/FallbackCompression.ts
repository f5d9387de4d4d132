/** A prompt that is sent as it came to the first target of its combo, and shorter to every further one. */
import type * as Effect from "effect/Effect"
import type { FormatName } from "#schemas/wire/conversation.ts"
import type * as Compress from "#src/compression/compress.ts"
import type { Decision } from "#src/compression/effective.ts"
import type { Plan } from "#src/compression/plan.ts"
import type { BodyWorkers } from "#src/inference/lane/bodies/BodyWorkers.ts"
import type { Prompt, Shortening } from "#src/inference/lane/bodies/Prompt.ts"
import { PromptCompression } from "./PromptCompression.ts"

export class FallbackCompression implements Shortening {
  private readonly further: PromptCompression
  private readonly first: Decision
  private begun = false

  /** `first`: of the first target; `further`: of the others. */
  constructor(first: Decision, further: Decision, format: FormatName, onSaved: (savings: Compress.Savings, plan: Plan) => void) {
    this.first = first
    this.further = new PromptCompression(further, format, onSaved)
  }

  onFallback(): boolean {
    if (this.begun) return false
    return this.begun = true
  }

  get header(): string {
    return this.begun ? this.further.header : this.first.header
  }

  get plan(): Plan | null {
    return this.begun ? this.further.plan : null
  }

  get terse(): string | null {
    return this.first.terse
  }

  get clears(): boolean {
    return this.first.clears
  }

  get savedTokens(): number | null {
    return this.further.savedTokens
  }

  prepare(workers: BodyWorkers, prompt: Prompt): Effect.Effect<void> | null {
    return this.begun ? this.further.prepare(workers, prompt) : null
  }

  now(prompt: Prompt): void {
    if (this.begun) this.further.now(prompt)
  }

  ofTree(body: Record<string, unknown>): Record<string, unknown> {
    return this.begun ? this.further.ofTree(body) : body
  }

  saved(savings: Compress.Savings): void {
    this.further.saved(savings)
  }
}
