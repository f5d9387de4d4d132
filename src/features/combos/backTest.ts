/**
 * Past requests under a draft. A target that was asked then did what it did; one that was not is taken to answer, in the middle of the
 * time of its own past answers and at the price of the tokens that the request used. Pure.
 */
import type { Usage } from "#actors/request/ports/Face.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import type { DraftRoute, DraftTarget } from "#src/inference/ports/RoutingViews.ts"
import type { BackTest } from "./api.ts"

export const nameOf = (provider: string, model: string): string => `${provider}\n${model}`

const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }

const usageOf = ({ tokensCacheCreation, tokensCacheRead, tokensIn, tokensOut, tokensReasoning }: LedgerRow): Usage =>
  ({ input: tokensIn, output: tokensOut, cacheRead: tokensCacheRead, cacheCreation: tokensCacheCreation, reasoning: tokensReasoning })

/** The tokens that the request is worth: of its answer, or of the attempt that used most. */
const worthOf = (attempts: ReadonlyArray<LedgerRow>): Usage => {
  const answer = attempts.find(({ outcome }) => outcome === "completed")
  const most = attempts.reduce<LedgerRow | undefined>((one, other) => one === undefined || other.tokensIn + other.tokensOut > one.tokensIn + one.tokensOut ? other : one, undefined)
  const row = answer ?? most
  return row === undefined ? noUsage : usageOf(row)
}

/** The attempt that was made at a target, at its connection if there was one. */
const attemptAt = (attempts: ReadonlyArray<LedgerRow>, { connectionId, model, provider }: DraftTarget): LedgerRow | undefined => {
  const same = attempts.filter((row) => row.provider === provider && row.model === model)
  return same.find((row) => row.connectionId === connectionId) ?? same[0]
}

/** Continuous, as the database's. */
const percentile = (sorted: ReadonlyArray<number>, share: number): number | null => {
  if (sorted.length === 0) return null
  const place = share * (sorted.length - 1)
  const low = sorted[Math.floor(place)] as number
  return low + (place - Math.floor(place)) * ((sorted[Math.ceil(place)] as number) - low)
}

class Tally {
  answered = 0
  costUsd = 0
  readonly latencies: Array<number> = []
  readonly answers = new Map<string, number>()

  answer(provider: string, model: string, ms: number | null): void {
    this.answered++
    if (ms !== null) this.latencies.push(ms)
    const name = nameOf(provider, model)
    this.answers.set(name, (this.answers.get(name) ?? 0) + 1)
  }

  get sums() {
    const sorted = this.latencies.toSorted((a, b) => a - b)
    return { answered: this.answered, costUsd: Math.round(this.costUsd * 1e10) / 1e10, p50Ms: percentile(sorted, 0.5), p95Ms: percentile(sorted, 0.95) }
  }
}

export class Rehearsal {
  readonly #usualMs: ReadonlyMap<string, number>
  readonly #actual = new Tally()
  readonly #draft = new Tally()
  #requests = 0
  #first = Number.POSITIVE_INFINITY
  #last = Number.NEGATIVE_INFINITY
  #measured = 0
  #assumed = 0
  #unmeasured = 0
  #refused = 0
  #unpriced = 0

  /** `usualMs`: the middle of a model's past answers, by `nameOf`. */
  constructor(usualMs: ReadonlyMap<string, number>) {
    this.#usualMs = usualMs
  }

  /** One request with its attempts, first attempt first; `route`: where the draft sends it, null = nowhere. */
  add(attempts: ReadonlyArray<LedgerRow>, route: DraftRoute | null): void {
    const [first] = attempts
    if (first === undefined) return
    this.#requests++
    this.#first = Math.min(this.#first, first.startedAt)
    this.#last = Math.max(this.#last, first.startedAt)
    const answer = attempts.find(({ outcome }) => outcome === "completed")
    for (const { costUsd } of attempts) this.#actual.costUsd += costUsd
    if (answer !== undefined) this.#actual.answer(answer.provider, answer.model, answer.startedAt + answer.latencyMs - first.startedAt)
    if (route === null) this.#refused++
    else this.#walk(attempts, route)
  }

  #walk(attempts: ReadonlyArray<LedgerRow>, { answered, targets }: DraftRoute): void {
    let spentMs = 0
    for (const [index, target] of targets.entries()) {
      const { costOf, model, provider } = target
      const made = attemptAt(attempts, target)
      if (made !== undefined) {
        spentMs += made.latencyMs
        this.#draft.costUsd += made.costUsd
        if (made.outcome !== "completed") continue
        this.#measured++
        this.#draft.answer(provider, model, spentMs)
      } else {
        const usual = this.#usualMs.get(nameOf(provider, model))
        if (usual === undefined) this.#unmeasured++
        else this.#assumed++
        const cost = costOf(worthOf(attempts))
        if (cost === null) this.#unpriced++
        else this.#draft.costUsd += cost
        this.#draft.answer(provider, model, usual === undefined ? null : spentMs + usual)
      }
      answered(index)
      return
    }
  }

  /** `shown`: a provider's name for clients. */
  result(shown: (provider: string) => string): BackTest {
    const names = new Set([...this.#actual.answers.keys(), ...this.#draft.answers.keys()])
    const targets = Array.from(names, (name) => {
      const [provider = "", model = ""] = name.split("\n")
      return { provider: shown(provider), model, actual: this.#actual.answers.get(name) ?? 0, draft: this.#draft.answers.get(name) ?? 0 }
    })
    const iso = (ms: number): string | null => Number.isFinite(ms) ? new Date(ms).toISOString() : null
    return {
      requests: this.#requests, from: iso(this.#first), to: iso(this.#last),
      actual: this.#actual.sums,
      draft: { ...this.#draft.sums, measured: this.#measured, assumed: this.#assumed, unmeasured: this.#unmeasured, refused: this.#refused, unpriced: this.#unpriced },
      targets: targets.sort((a, b) => b.draft - a.draft || b.actual - a.actual || (a.model < b.model ? -1 : 1))
    }
  }
}
