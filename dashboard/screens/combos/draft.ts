/** A combo while it is edited: its steps as the form holds them, the body that is sent, and what differs from the stored one. Pure. */
import type { Answer, Body } from "../../api/contract.ts"
import type { Difference } from "../../parts/edit/Changes.tsx"

export type Combo = Answer<"GET /api/combos">["combos"][number]
type StoredStep = Combo["models"][number]
type DraftBody = Body<"POST /api/combos/explain">["combo"]

/** A step as the form holds it; `kept` are the fields that the form does not show. */
export interface Step {
  readonly key: number
  readonly name: string
  readonly weight: string
  readonly connectionId: string
  readonly label: string
  readonly prompt: string
  readonly kept: StoredStep | null
}

export interface Draft {
  readonly name: string
  readonly description: string
  readonly strategy: string
  readonly steps: ReadonlyArray<Step>
}

export const nameOf = (step: StoredStep): string =>
  step.kind === "combo-ref" ? step.comboName : step.provider === null || step.model.startsWith(`${step.provider}/`) ? step.model : `${step.provider}/${step.model}`

let keys = 0
export const stepOf = (stored: StoredStep | null, name = ""): Step => ({
  key: ++keys, name: stored === null ? name : nameOf(stored), weight: String(stored?.weight ?? 1), label: stored?.label ?? "", kept: stored,
  connectionId: stored?.kind === "model" ? stored.connectionId ?? "" : "", prompt: stored?.kind === "model" ? stored.prompt ?? "" : ""
})

export const draftOf = (combo: Combo | null): Draft => combo === null
  ? { name: "", description: "", strategy: "priority", steps: [stepOf(null)] }
  : { name: combo.name, description: combo.description ?? "", strategy: combo.strategy, steps: combo.models.map((step) => stepOf(step)) }

/** Fields that the form does not show are kept as long as the step asks for the same. */
const bodyOfStep = ({ connectionId, kept, label, name, prompt, weight }: Step, combos: ReadonlySet<string>) => {
  const shared = { weight: Number(weight) || 0, label: label === "" ? null : label }
  const own = { connectionId: connectionId === "" ? null : connectionId, prompt: prompt === "" ? null : prompt }
  if (kept !== null && nameOf(kept) === name) return kept.kind === "combo-ref" ? { ...kept, ...shared } : { ...kept, ...shared, ...own }
  return combos.has(name) ? { kind: "combo-ref" as const, comboName: name, ...shared } : { kind: "model" as const, model: name, ...shared, ...own }
}

/** Null while there is nothing to ask about. */
export const bodyOf = ({ description, name, steps, strategy }: Draft, strategies: ReadonlyArray<DraftBody["strategy"]>, combos: ReadonlySet<string>) => {
  const models = steps.filter((step) => step.name !== "").map((step) => bodyOfStep(step, combos))
  return models.length === 0 || name === "" ? null : { name, description, strategy: strategies.find((each) => each === strategy) ?? "priority" as const, models }
}

export const configText = (combo: Combo | null): string => JSON.stringify(combo?.config ?? {}, null, 2)

/** Null for a text that is no object. */
export const configIn = (text: string): Combo["config"] | null => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}

export const moved = (steps: ReadonlyArray<Step>, from: number, to: number): ReadonlyArray<Step> => {
  const step = steps[from]
  if (step === undefined || from === to || to < 0 || to >= steps.length) return steps
  return steps.filter((_, index) => index !== from).toSpliced(to, 0, step)
}

/** Shares of a weighted combo; equal ones while no weight is given. */
export const shareOf = (steps: ReadonlyArray<Step>, index: number): number => {
  const weights = steps.map(({ weight }) => Math.max(0, Number(weight) || 0))
  const sum = weights.reduce((all, weight) => all + weight, 0)
  return sum === 0 ? 1 / Math.max(1, steps.length) : (weights[index] ?? 0) / sum
}

/** How a strategy is drawn. */
export type Drawing = "arrows" | "shares" | "ring" | "columns" | "chain" | "scored"
export const drawingOf = (strategy: string): Drawing => {
  switch (strategy) {
    case "weighted":
      return "shares"
    case "round-robin":
      return "ring"
    case "fusion":
    case "debate":
      return "columns"
    case "pipeline":
      return "chain"
    case "priority":
    case "fill-first":
    case "context-relay":
      return "arrows"
    default:
      return "scored"
  }
}

const lineOf = (step: Step, index: number, strategy: string): string =>
  `${index + 1}. ${step.name}${strategy === "weighted" ? ` (weight ${step.weight})` : ""}${step.connectionId === "" ? "" : `, connection ${step.connectionId}`}${step.label === "" ? "" : `, “${step.label}”`}${step.prompt === "" ? "" : ", with a prompt"}`

/** What differs between two states, a line for each field and each step. */
export const differences = (before: Draft, after: Draft): ReadonlyArray<Difference> => {
  const fields = (["name", "description", "strategy"] as const).flatMap((what) => before[what] === after[what] ? [] : [{ what, before: before[what], after: after[what] }])
  const lines = (draft: Draft) => draft.steps.filter(({ name }) => name !== "").map((step, index) => lineOf(step, index, draft.strategy))
  const [old, now] = [lines(before), lines(after)]
  const steps = Array.from({ length: Math.max(old.length, now.length) }, (_, index) => ({ what: `step ${index + 1}`, before: old[index] ?? "none", after: now[index] ?? "none" }))
  const prompts = after.steps.flatMap((step, index) => {
    const same = before.steps.find(({ kept }) => kept !== null && kept === step.kept)
    return same === undefined || same.prompt === step.prompt ? [] : [{ what: `prompt of step ${index + 1}`, before: same.prompt, after: step.prompt }]
  })
  return [...fields, ...steps.filter((one) => one.before !== one.after), ...prompts]
}
