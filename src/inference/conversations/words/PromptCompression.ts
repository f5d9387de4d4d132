/** A prompt that is sent shorter than its client wrote it: once per request, before it is said in the words of any target. */
import * as Effect from "effect/Effect"
import { PublicError } from "#schemas/errors.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as Compress from "#src/compression/compress.ts"
import type { Decision } from "#src/compression/effective.ts"
import type { Plan } from "#src/compression/plan.ts"
import type { BodyWorkers } from "#src/inference/lane/bodies/BodyWorkers.ts"
import * as Identity from "#src/inference/lane/bodies/identity.ts"
import type { Prompt, Shortening } from "#src/inference/lane/bodies/Prompt.ts"
import * as Edits from "#src/wire/json/edits.ts"
import { compressing } from "./compressJobs.ts"

/** Bytes; a longer body is compressed in a thread: 16 KiB take about 2 ms. */
const quickBytes = 16 * 1024
/** Characters of a large body that are compressed here, where its whole is needed: they take about 40 ms. */
const treeCharacters = 128 * 1024

export class PromptCompression implements Shortening {
  readonly header: string
  readonly plan: Plan | null
  readonly terse: string | null
  readonly clears: boolean
  private readonly format: FormatName
  /** Called once, with what was saved. */
  private readonly onSaved: (savings: Compress.Savings, plan: Plan) => void
  savedTokens: number | null = null
  private pending: boolean

  /** `plan`: null = the prompt stays. `terse`: what asks for a short answer; null = nothing. */
  constructor({ clears, header, plan, terse }: Decision, format: FormatName, onSaved: (savings: Compress.Savings, plan: Plan) => void) {
    this.plan = plan
    this.header = header
    this.terse = terse
    this.clears = clears
    this.format = format
    this.onSaved = onSaved
    this.pending = plan !== null
  }

  /** A large body, which is read now. */
  ofTree(body: Record<string, unknown>): Record<string, unknown> {
    const { plan } = this
    if (plan === null) return body
    const { changes, savings } = Compress.ofBody(plan, this.format, body, Identity.nameOf, treeCharacters)
    this.saved(savings)
    return changes === null ? body : Edits.documentWith(body, changes)
  }

  /** What was saved is known: of a large body, the thread that wrote it says so. */
  saved(savings: Compress.Savings): void {
    if (!this.pending || this.plan === null) return
    this.pending = false
    this.savedTokens = savings.originalTokens - savings.compressedTokens
    this.onSaved(savings, this.plan)
  }

  /** A body that is compressed here is compressed now, unless it was before. */
  now(prompt: Prompt): void {
    if (this.pending && this.plan !== null && prompt.large === null) this.take(prompt, Compress.ofBody(this.plan, this.format, prompt.parsed, Identity.nameOf))
  }

  /** In a thread of its own; null when it is quick, or was done. */
  prepare(workers: BodyWorkers, prompt: Prompt): Effect.Effect<void> | null {
    const { format, plan } = this
    if (!this.pending || plan === null || prompt.large !== null || prompt.body.length <= quickBytes) return null
    return Effect.callback<void>((resume) => workers.ask(compressing, { id: workers.nextId(), bytes: new Uint8Array(prompt.body), format, plan }, (said) => {
      // What could not be compressed is sent as it came.
      if (said instanceof PublicError) this.pending = false
      else if (this.pending) this.take(prompt, said)
      resume(Effect.void)
    }))
  }

  private take(prompt: Prompt, { changes, savings }: Compress.Compressed): void {
    if (changes !== null) {
      const { body, parsed } = prompt
      prompt.body = Edits.bytesWith(body, parsed, changes)
      prompt.parsed = Edits.documentWith(parsed, changes)
    }
    this.saved(savings)
  }
}
