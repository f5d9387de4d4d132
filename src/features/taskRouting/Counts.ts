/** How many requests of this node were of which kind, and how many went to another model for it. In memory, since the start or a reset. */
import { type Task, tasks } from "#schemas/words/TaskRouting.ts"
import { type BackgroundReason, reasons } from "#src/routing/tasks/background.ts"
import { type Intent, intents } from "#src/routing/tasks/detect.ts"
import type { Choice } from "./choice.ts"

/** What became of a request. */
export type Outcome = "kept" | "routed" | "unavailable"

export interface TaskCount {
  detected: number
  routed: number
  unavailable: number
}

const noTask = (): TaskCount => ({ detected: 0, routed: 0, unavailable: 0 })

const add = (count: TaskCount, outcome: Outcome): void => {
  count.detected++
  if (outcome !== "kept") count[outcome]++
}

const sumOf = (counts: ReadonlyArray<TaskCount>): TaskCount => counts.reduce((sum, { detected, routed, unavailable }) => ({
  detected: sum.detected + detected, routed: sum.routed + routed, unavailable: sum.unavailable + unavailable
}), noTask())

const none = <Name extends string>(names: ReadonlyArray<Name>) => Object.fromEntries(names.map((name) => [name, noTask()])) as Record<Name, TaskCount>

const tasksAt = (since: number) => ({ since, tasks: none<Task>(tasks), intents: none<Intent>(intents) })

const backgroundAt = (since: number) => ({ since, reasons: none<BackgroundReason>(reasons) })

export class Counts {
  private readonly now: () => number
  private byTask: ReturnType<typeof tasksAt>
  private byReason: ReturnType<typeof backgroundAt>

  /** `now`: ms since the epoch. */
  constructor(now: () => number) {
    this.now = now
    this.byTask = tasksAt(now())
    this.byReason = backgroundAt(now())
  }

  note(choice: Choice, outcome: Outcome): void {
    if (choice._tag === "Background") add(this.byReason.reasons[choice.reason], outcome)
    else if (choice._tag === "Task") add(this.byTask.tasks[choice.task], outcome)
    else add(this.byTask.intents[choice.intent], outcome)
  }

  resetTasks(): void {
    this.byTask = tasksAt(this.now())
  }

  resetBackground(): void {
    this.byReason = backgroundAt(this.now())
  }

  get tasks() {
    const { intents: about, since, tasks: counted } = this.byTask
    return { since: new Date(since).toISOString(), ...sumOf(Object.values(counted)), byTask: structuredClone(counted), byIntent: structuredClone(about) }
  }

  get background() {
    const { reasons: counted, since } = this.byReason
    const { detected, routed, unavailable } = sumOf(Object.values(counted))
    return { since: new Date(since).toISOString(), detected, redirected: routed, unavailable, byReason: structuredClone(counted) }
  }
}
