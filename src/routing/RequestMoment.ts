/** What is known when a request asks for its way. A class, because every request makes one and most of it is never asked for. */
import type { Quotas } from "#src/routing/ports/Quotas.ts"
import { type Resilience, stricter, type TargetHealth, type Unavailable } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import { type Demands, none } from "#src/routing/capabilities/demands.ts"
import type { Moment, PromptLength, QuotaWindow, Wanted } from "#src/routing/models/candidate.ts"

/** What of a request a strategy may want to know; estimates. */
export type About = Pick<Moment, "promptTokens" | "answerTokens" | "promptPrefix" | "needs">

/** The prompt of a request, as strategies ask of it. */
export interface AskedPrompt {
  about(): About
  /** What it cannot do without; asked only where that is checked. */
  demands(): Demands
}

const nothingKnown: About = { promptTokens: 0, promptPrefix: "", needs: { tools: false, vision: false, structuredOutput: false } }

/** What is known of a request that was not inspected. */
export const unknownRequest: AskedPrompt = { about: () => nothingKnown, demands: () => none }

export interface MomentSources {
  readonly resilience: Pick<Resilience["Service"], "check" | "health">
  readonly quotas: Pick<Quotas["Service"], "known" | "windows" | "preflight">
  readonly random: () => number
}

/** Scope of keys that are served below the cut-offs, too. */
const bypassScope = "policy:bypass-provider-quota"

const noQuota: ReadonlyArray<QuotaWindow> = []

/** The question, as far as a moment tells of it. */
export interface Asking {
  readonly key: ApiKey | null
  readonly now: number
  readonly prompt: AskedPrompt
}

export class RequestMoment implements Moment {
  readonly session: string | null
  readonly length: PromptLength | null
  readonly wanted: Wanted | null
  private readonly sources: MomentSources
  private readonly asking: Asking
  /** The cut-offs of quota windows count for this key. */
  private readonly guarded: boolean
  private about: About | null = null

  constructor(sources: MomentSources, asking: Asking, session: string | null, length: PromptLength | null = null, wanted: Wanted | null = null) {
    const { key } = asking
    this.session = session
    this.length = length
    this.wanted = wanted
    this.sources = sources
    this.asking = asking
    this.guarded = sources.quotas.known() && (key === null || !key.policy.scopes.includes(bypassScope))
  }

  get now(): number {
    return this.asking.now
  }

  get keyId(): string | null {
    const { key } = this.asking
    return key === null ? null : key.id
  }

  get random(): () => number {
    return this.sources.random
  }

  unavailable(target: Target): Unavailable | null {
    const { asking: { now }, sources: { quotas, resilience } } = this
    const blocked = resilience.check(target, now)
    if (!this.guarded) return blocked
    return stricter(blocked, quotas.preflight(target, now))
  }

  health(target: Target): TargetHealth {
    return this.sources.resilience.health(target, this.now)
  }

  quota(target: Target): ReadonlyArray<QuotaWindow> {
    const { quotas } = this.sources
    return quotas.known() ? quotas.windows(target, this.now) : noQuota
  }

  get promptTokens(): number {
    return this.asked().promptTokens
  }

  get answerTokens(): number | null {
    return this.asked().answerTokens ?? null
  }

  get promptPrefix(): string {
    return this.asked().promptPrefix
  }

  get needs(): Moment["needs"] {
    return this.asked().needs
  }

  private asked(): About {
    return this.about ??= this.asking.prompt.about()
  }
}

/** The moment of a request whose demands are checked; a class of its own, so that others do not grow. */
export class DemandingMoment extends RequestMoment {
  readonly lacks: NonNullable<Moment["lacks"]> | null

  constructor(lacks: DemandingMoment["lacks"], ...of: ConstructorParameters<typeof RequestMoment>) {
    super(...of)
    this.lacks = lacks
  }
}
