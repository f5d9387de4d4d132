/** What strategies order: the targets of one combo (or of one provider's connections) and what is known at that moment. Pure. */
import type { QuotaWindow } from "#src/routing/ports/Quotas.ts"
import type { TargetHealth, Unavailable } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { ComboConfig } from "#schemas/records/Combo.ts"

/** One target of an expanded combo. */
export interface Candidate {
  /** Step ids along the nesting path joined with `>`, then the connection: the same in every request. */
  readonly executionKey: string
  /** The step of the outermost combo that it belongs to: what is drawn by weight. */
  readonly stepId: string
  /**
   * What takes turns where that is not the step: the step ids along the nesting path of a flattened reference, the execution key of
   * a candidate that stands for a whole combo.
   */
  readonly turn?: string
  readonly weight: number
  readonly label: string | null
  readonly tags: ReadonlyArray<string>
  readonly prompt: string | null
  readonly target: Target
  /** Tokens; null when unknown. */
  readonly contextWindow: number | null
  readonly capabilities: ReadonlyArray<string> | null
}

export type { QuotaWindow }

/** Categories and tiers of `auto/<category>:<tier>`. */
export type ModelCategory = "coding" | "reasoning" | "vision" | "chat" | "multimodal"
export type ModelTier = "fast" | "cheap" | "reliable" | "free" | "pro"

/** Which candidates an id of automatic routing wants; null = any. */
export interface Wanted {
  readonly category: ModelCategory | null
  readonly tier: ModelTier | null
}

/** How long a request's prompt is. */
export interface PromptLength {
  /** Tokens that it has at least, when they are more than this window of the target; null when it may fit. */
  readonly beyond: (target: Target, window: number) => number | null
  /** It is sent shorter than it was measured, by how much is not known yet: what is beyond a window may fit. */
  readonly mayShrink: () => boolean
}

/** What is known when an order is asked for; functions are cheap look-ups. */
export interface Moment {
  /** ms since the epoch. */
  readonly now: number
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly unavailable: (target: Target) => Unavailable | null
  readonly health: (target: Target) => TargetHealth
  readonly quota: (target: Target) => ReadonlyArray<QuotaWindow>
  /** Session tag for affinity; null without one. */
  readonly session: string | null
  /** Stable text of the prompt's beginning, for cache affinity; "" when unknown. */
  readonly promptPrefix: string
  /** Estimated tokens of the request. */
  readonly promptTokens: number
  /** The most tokens that the client lets the answer have; null or absent: it says nothing of it. */
  readonly answerTokens?: number | null
  readonly needs: { readonly tools: boolean; readonly vision: boolean; readonly structuredOutput: boolean }
  /** Id of the API key; null for anonymous. */
  readonly keyId: string | null
  /** Absent or null = not checked. */
  readonly length?: PromptLength | null
  /** Absent or null = any candidate. */
  readonly wanted?: Wanted | null
  /** What a target's model is known to lack of what the request cannot do without; null when nothing. Absent or null = not checked. */
  readonly lacks?: ((target: Target) => Lacking | null) | null
}

/** Memory of a strategy between requests; opaque to all other code, JSON values only. */
export type Memory = Readonly<Record<string, unknown>> | null

export interface Skipped {
  readonly candidate: Candidate
  readonly unavailable: Unavailable | LeftOut
}

/** What a request may demand of a model. */
export type Capability = "vision" | "tools" | "structured_output" | "audio"

/** Why a strategy leaves out a candidate that could be called. */
export interface LeftOut {
  readonly reason: "context-too-small" | "capability-missing" | "not-allowed" | "over-budget" | "too-slow" | "excluded"
  /** ms since the epoch. */
  readonly until: number | null
  readonly detail: string
  /** The prompt certainly has more tokens than the window holds. */
  readonly overflow?: { readonly tokens: number; readonly window: number }
  /** What the model certainly lacks; absent where that is a guess. */
  readonly missing?: ReadonlyArray<Capability>
}

/** The model certainly lacks something that the request cannot do without. */
export interface Lacking extends LeftOut {
  readonly missing: ReadonlyArray<Capability>
}

/** A filter that would have left no candidate and was therefore not applied. */
export type Relaxed = "context" | "capability" | "ttft" | "pool" | "excluded" | "sla"

/** An order: every available candidate exactly once, best first, and why the others are left out. */
export interface Order {
  readonly order: ReadonlyArray<Candidate>
  readonly skipped: ReadonlyArray<Skipped>
  readonly memory: Memory
  /** Absent when every filter was applied. */
  readonly relaxed?: ReadonlyArray<Relaxed>
}

/** A strategy: pure in its arguments. `succeeded` is the memory after the candidate answered (sticky limits, last known good). */
export interface StrategyLogic {
  readonly order: (candidates: ReadonlyArray<Candidate>, config: ComboConfig, memory: Memory, moment: Moment) => Order
  readonly succeeded: (candidate: Candidate, config: ComboConfig, memory: Memory, moment: Moment) => Memory
}
