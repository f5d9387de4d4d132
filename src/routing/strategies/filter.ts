/**
 * Which candidates may be called at all, before any strategy: one filter for all of them. What is certain (unavailable, not
 * allowed, a prompt above the window, what a model is known to lack, strict context) leaves; what is a guess (capabilities, lenient context, expected first
 * token) leaves only while a candidate remains.
 */
import type { Target } from "#actors/request/ports/Target.ts"
import type { Candidate, Moment, Relaxed, Skipped } from "#src/routing/models/candidate.ts"
import type { ComboConfig } from "#schemas/records/Combo.ts"

export interface Filtered {
  /** In the order given; the given array itself when no candidate leaves. */
  readonly available: ReadonlyArray<Candidate>
  readonly skipped: ReadonlyArray<Skipped>
  readonly relaxed: ReadonlyArray<Relaxed>
}

export type Why = Skipped["unavailable"]

const noneSkipped: ReadonlyArray<Skipped> = []
const applied: ReadonlyArray<Relaxed> = []

const join = <A>(first: ReadonlyArray<A>, second: ReadonlyArray<A>): ReadonlyArray<A> =>
  first.length === 0 ? second : second.length === 0 ? first : [...first, ...second]

/** All candidates may be called. */
export const all = (available: ReadonlyArray<Candidate>): Filtered => ({ available, skipped: noneSkipped, relaxed: applied })

/** Leaves out the candidates with a reason from `why`; with `soft` only while a candidate remains, else the name goes to `relaxed`. */
export const narrow = (from: Filtered, why: (candidate: Candidate) => Why | null, soft: Relaxed | null = null): Filtered => {
  const { available } = from
  let kept: Array<Candidate> | null = null
  let left: Array<Skipped> | null = null
  for (let i = 0; i < available.length; i++) {
    const candidate = available[i] as Candidate
    const unavailable = why(candidate)
    if (unavailable === null) {
      kept?.push(candidate)
      continue
    }
    kept ??= available.slice(0, i)
    left ??= []
    left.push({ candidate, unavailable })
  }
  if (kept === null || left === null) return from
  if (kept.length === 0 && soft !== null) return { ...from, relaxed: join(from.relaxed, [soft]) }
  return { available: kept, skipped: join(from.skipped, left), relaxed: from.relaxed }
}

const contextReason = (needed: number, strict: boolean) => (candidate: Candidate): Why | null => {
  const window = candidate.contextWindow
  if (window === null) {
    return strict ? { reason: "context-too-small", until: null, detail: `The context window is unknown; ${needed} tokens are required.` } : null
  }
  return window >= needed ? null : { reason: "context-too-small", until: null, detail: `The context window is ${window} of ${needed} tokens.` }
}

/** The prompt certainly does not fit; no guess, so nothing brings the candidate back. */
export const overflowOf = (target: Target, window: number | null, { length = null }: Pick<Moment, "length">): Why | null => {
  const tokens = window === null || length === null ? null : length.beyond(target, window)
  return window === null || tokens === null ? null : {
    reason: "context-too-small", until: null, overflow: { tokens, window }, detail: `The context window is ${window} tokens; the prompt has at least ${tokens}.`
  }
}

/** Needs that a candidate's known capabilities lack; null when none, or when its capabilities are unknown. */
const capabilityReason = (needs: Moment["needs"]) => ({ capabilities }: Candidate): Why | null => {
  if (capabilities === null) return null
  const missing = needs.tools && !capabilities.includes("tools")
    ? "tools"
    : needs.vision && !capabilities.includes("vision")
    ? "vision"
    : needs.structuredOutput && !capabilities.includes("structuredOutput")
    ? "structuredOutput"
    : null
  return missing === null ? null : { reason: "capability-missing", until: null, detail: `The model has no capability '${missing}'.` }
}

/** No capability is known to be missing, as is usual; then a long prompt need not be searched for its needs. */
const lacksNothing = ({ capabilities }: Candidate): boolean =>
  capabilities === null || (capabilities.includes("tools") && capabilities.includes("vision") && capabilities.includes("structuredOutput"))

/** The filter that all strategies share; when `available` is empty, `skipped` holds every candidate. */
export const filter = (candidates: ReadonlyArray<Candidate>, config: ComboConfig, moment: Moment): Filtered => {
  let filtered = all(candidates)
  const { lacks = null, length = null } = moment
  if (length !== null) {
    const tooSmall = ({ contextWindow, target }: Candidate): Why | null => overflowOf(target, contextWindow, moment)
    const inside = narrow(filtered, tooSmall)
    // Only a prompt that may still become shorter is sent where it does not fit as it is, and only where it fits nowhere.
    filtered = inside.available.length > 0 || !length.mayShrink() ? inside : narrow(filtered, tooSmall, "context")
  }
  if (lacks !== null) filtered = narrow(filtered, ({ target }) => lacks(target))
  filtered = narrow(filtered, (candidate) => moment.unavailable(candidate.target))
  const context = config.contextRequirements
  if (context !== undefined) {
    const strict = context.contextFilterMode === "strict"
    const needed = Math.max(context.minContextWindow ?? 0, moment.promptTokens)
    if (needed > 0) filtered = narrow(filtered, contextReason(needed, strict), strict ? null : "context")
  }
  if (!candidates.every(lacksNothing)) {
    const { needs } = moment
    if (needs.tools || needs.vision || needs.structuredOutput) filtered = narrow(filtered, capabilityReason(needs), "capability")
  }
  const limit = config.predictiveTtftMs ?? 0
  if (limit > 0) {
    filtered = narrow(filtered, (candidate) => {
      const expected = moment.health(candidate.target).ttftP50Ms
      return expected === null || expected <= limit
        ? null
        : { reason: "too-slow", until: null, detail: `The first token is expected after ${Math.round(expected)} ms, more than ${limit} ms.` }
    }, "ttft")
  }
  return filtered
}
