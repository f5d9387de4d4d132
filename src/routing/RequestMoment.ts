/** What is known when a request asks for its way. A class, because every request makes one and most of it is never asked for. */
import type { Quotas } from "#src/routing/ports/Quotas.ts"
import { type Resilience, stricter, type TargetHealth, type Unavailable } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Hints, Moment, PromptLength, QuotaWindow } from "#src/routing/models/candidate.ts"

/** What of a request a strategy may want to know; estimates. */
export type About = Pick<Moment, "promptTokens" | "promptPrefix" | "needs">

/** The prompt of a request, as strategies ask of it. */
export interface AskedPrompt {
  about(): About
}

const nothingKnown: About = { promptTokens: 0, promptPrefix: "", needs: { tools: false, vision: false, structuredOutput: false } }

/** What is known of a request that was not inspected. */
export const unknownRequest: AskedPrompt = { about: () => nothingKnown }

export interface MomentSources {
  readonly resilience: Pick<Resilience["Service"], "check" | "health">
  readonly quotas: Pick<Quotas["Service"], "known" | "windows" | "preflight">
  readonly random: () => number
}

/** Scope of keys that are served below the cut-offs, too. */
const bypassScope = "policy:bypass-provider-quota"

const noQuota: ReadonlyArray<QuotaWindow> = []

export class RequestMoment implements Moment {
  readonly now: number
  readonly session: string | null
  readonly keyId: string | null
  readonly random: () => number
  readonly length: PromptLength | null
  private readonly sources: MomentSources
  private readonly prompt: AskedPrompt
  /** Some quota window is known. */
  private readonly known: boolean
  /** The cut-offs of quota windows count for this key. */
  private readonly guarded: boolean
  private about: About | null = null

  constructor(sources: MomentSources, now: number, session: string | null, key: ApiKey | null, prompt: AskedPrompt, length: PromptLength | null = null) {
    this.now = now
    this.session = session
    this.keyId = key === null ? null : key.id
    this.random = sources.random
    this.sources = sources
    this.prompt = prompt
    this.length = length
    this.known = sources.quotas.known()
    this.guarded = this.known && (key === null || !key.policy.scopes.includes(bypassScope))
  }

  unavailable(target: Target): Unavailable | null {
    const { quotas, resilience } = this.sources
    const blocked = resilience.check(target, this.now)
    if (!this.guarded) return blocked
    return stricter(blocked, quotas.preflight(target, this.now))
  }

  health(target: Target): TargetHealth {
    return this.sources.resilience.health(target, this.now)
  }

  quota(target: Target): ReadonlyArray<QuotaWindow> {
    return this.known ? this.sources.quotas.windows(target, this.now) : noQuota
  }

  get promptTokens(): number {
    return this.asked().promptTokens
  }

  get promptPrefix(): string {
    return this.asked().promptPrefix
  }

  get needs(): Moment["needs"] {
    return this.asked().needs
  }

  private asked(): About {
    return this.about ??= this.prompt.about()
  }
}

/** The same moment with further hints; its members are named one by one, as a spread would lose those of a class. */
export const withHints = (moment: Moment, hints: Hints): Moment => ({
  now: moment.now,
  session: moment.session,
  keyId: moment.keyId,
  random: moment.random,
  unavailable: (target) => moment.unavailable(target),
  health: (target) => moment.health(target),
  quota: (target) => moment.quota(target),
  promptTokens: moment.promptTokens,
  promptPrefix: moment.promptPrefix,
  needs: moment.needs,
  length: moment.length ?? null,
  hints: { ...moment.hints, ...hints }
})
