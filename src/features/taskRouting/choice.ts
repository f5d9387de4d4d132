/** Which model a request is sent to instead of the one that it asked for, and why. Pure. */
import { type Task, tasks } from "#schemas/words/TaskRouting.ts"
import type { BackgroundReason } from "#src/routing/tasks/background.ts"
import type { Intent, TaskSource } from "#src/routing/tasks/detect.ts"
import type { Said } from "#src/routing/tasks/reading.ts"
import type { Concern, Rules } from "./rules.ts"

/** `model`: null where the kind of task is known and has no model of its own. */
export type Choice =
  | { readonly _tag: "Background"; readonly reason: BackgroundReason; readonly model: string }
  | { readonly _tag: "Task"; readonly task: Task; readonly source: TaskSource; readonly model: string | null }
  | { readonly _tag: "Intent"; readonly intent: Intent; readonly model: string | null }

/** A task as a client may name it, in any case; null for another word, and for none. */
export const taskNamed = (word: string | undefined): Task | null => {
  const plain = word?.trim().toLowerCase()
  return tasks.find((task) => task === plain) ?? null
}

/** Ids of automatic routing that suit what a request is about. */
export const byIntent: Readonly<Record<Intent, string | null>> = { code: "auto/coding", reasoning: "auto/reasoning", simple: "auto/cheap", general: null }

const taskOf = ({ detector, taskRouting }: Rules, task: Concern["task"], said: Said, named: Task | null): { readonly task: Task; readonly source: TaskSource } | null => {
  if (named !== null) return { task: named, source: "header" }
  if (task !== null && task !== "detect") return { task, source: "model" }
  return taskRouting.detectionEnabled ? detector.task(said) : null
}

/** `named`: the task that the client names. Null: the request stays as it is, and nothing was found out. */
export const of = (rules: Rules, concern: Concern, said: Said, named: Task | null): Choice | null => {
  if (concern.degraded !== null) {
    const reason = rules.detector.background(said, named === "background")
    if (reason !== null) return { _tag: "Background", reason, model: concern.degraded }
  }
  if (concern.task !== null) {
    const found = taskOf(rules, concern.task, said, named)
    const model = found === null ? "" : rules.taskRouting.taskModelMap[found.task]
    if (found !== null && (model !== "" || !concern.intent)) return { _tag: "Task", ...found, model: model === "" ? null : model }
  }
  if (!concern.intent) return null
  const intent = rules.detector.intent(said)
  return { _tag: "Intent", intent, model: byIntent[intent] }
}

/** Printable ASCII, which a header may carry. */
const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, "?")

/** Value of X-Gateway-Task: what was found, by what, and the model; `served` false: it could not serve the request. */
export const headerOf = (choice: Choice, model: string, served: boolean): string => {
  const found = choice._tag === "Background"
    ? `task=background; source=${choice.reason}`
    : choice._tag === "Task" ? `task=${choice.task}; source=${choice.source}` : `intent=${choice.intent}`
  return `${found}; ${served ? "model" : "unavailable"}=${printable(model)}`
}
