/**
 * Setting comboAutoPromoteEnabled: in a combo that is asked as listed, the step that answered is placed before the first one that
 * had failed in the same request, so that the next requests do not repeat the failure. Pure.
 */
import type { AttemptNote } from "#actors/request/Inbound.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import type { Candidate } from "#src/routing/models/candidate.ts"

export const isOn = (settings: ReadonlyMap<string, unknown>): boolean => settings.get("comboAutoPromoteEnabled") === true

/** What one request has shown of a combo's own steps, by their ids. */
export interface Lesson {
  readonly answered: string
  readonly failed: ReadonlyArray<string>
}

/** The other strategies choose by something else than the list. */
const asListed: ReadonlySet<Combo["strategy"]> = new Set<Combo["strategy"]>(["priority", "fill-first", "context-relay"])

/** Error code of the call that was cut because the other one answered. */
const hedgeLost = "hedge_lost"

/** What a request that was answered has shown; null = nothing. A refusal of the request itself is no failure of its step. */
export const lessonOf = (combo: Pick<Combo, "strategy">, order: ReadonlyArray<Candidate>, attempts: ReadonlyArray<AttemptNote>): Lesson | null => {
  if (!asListed.has(combo.strategy)) return null
  const answer = attempts.findLast(({ code }) => code === null)
  const answered = answer === undefined ? undefined : order[answer.index]?.stepId
  if (answered === undefined) return null
  const failed = attempts.flatMap(({ code, index, status }) => {
    const step = order[index]?.stepId
    return step === undefined || step === answered || code === null || code === hedgeLost || StatusReason.isRequests(status) ? [] : [step]
  })
  return failed.length === 0 ? null : { answered, failed }
}

/** The combo in its new order; itself when the step stands before what failed already, or one of them is gone. */
export const promoted = (combo: Combo, { answered, failed }: Lesson): Combo => {
  const { models, strategy } = combo
  const from = models.findIndex(({ id }) => id === answered)
  const to = models.findIndex(({ id }) => failed.includes(id))
  const step = models[from]
  if (step === undefined || to < 0 || to >= from || !asListed.has(strategy)) return combo
  return { ...combo, models: [...models.slice(0, to), step, ...models.slice(to, from), ...models.slice(from + 1)] }
}
