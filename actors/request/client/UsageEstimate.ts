/** What a stream used whose upstream counted nothing: estimated once, for the client that asked for it and for the ledger. */
import type { Inbound } from "#actors/request/Inbound.ts"
import type { Accounting } from "#actors/request/ports/Accounting.ts"
import type { AnswerFacts, Dialect, Estimate, StreamTap, Usage } from "#actors/request/ports/Face.ts"

/** One per attempt of a client that asked for usage in its stream. */
export class UsageEstimate implements Estimate {
  /** Null until it was asked for. */
  usage: Usage | null = null
  private readonly inbound: Pick<Inbound, "promptText">
  private readonly accounting: Pick<Accounting["Service"], "estimate">

  constructor(inbound: Pick<Inbound, "promptText">, accounting: Pick<Accounting["Service"], "estimate">) {
    this.inbound = inbound
    this.accounting = accounting
  }

  of(outputText: string): Usage {
    return this.usage ??= {
      input: this.accounting.estimate(this.inbound.promptText()), output: this.accounting.estimate(outputText), cacheRead: 0, cacheCreation: 0, reasoning: 0
    }
  }
}

/** What the client is told of an attempt that is over, now or at the end of the answer that continues it; null = nothing. */
export const given = (estimate: UsageEstimate | null, tap: StreamTap | null, usage: Usage | null): Usage | null => {
  if (estimate === null) return null
  const isContinued = tap !== null && usage === null && (tap.partialText ?? null) !== null
  return isContinued ? estimate.of(tap.outputText()) : estimate.usage
}

/** The stream that was made from a whole answer, with usage where its client asked for it. */
export const streamOf = ({ dialect, estimate }: { readonly dialect: Pick<Dialect, "usageAdded">; readonly estimate: UsageEstimate | null }, { body, outputText, usage }: AnswerFacts): Uint8Array =>
  usage !== null || estimate === null || dialect.usageAdded === undefined ? body : dialect.usageAdded(body, estimate.of(outputText()))
