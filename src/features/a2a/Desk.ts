/** What every dialect asks for one caller: a task begun, found, followed, ended. Refusals of HTTP are told here, in one place. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { Json } from "#src/management/inner/Inner.ts"
import { answer } from "#src/management/answer.ts"
import type { A2aCaller } from "./A2aCaller.ts"
import type { A2aTask, TaskMessage } from "./ports/A2aTask.ts"
import type { TaskFilter } from "./ports/A2aTaskStore.ts"
import * as Skills from "#src/features/a2a/skills/index.ts"
import type { SkillServices } from "./skills/SkillServices.ts"
import { MOST_OF_ONE, type Tasks, TaskRefused } from "./Tasks.ts"

/** Messages of one task. */
export const MOST_MESSAGES = 200
/** Characters of ids that clients choose. */
export const LONGEST_ID = 200

/** What an agent asks for. */
export interface Errand {
  readonly skill: string
  readonly contextId: string
  readonly messages: ReadonlyArray<TaskMessage>
  readonly request: Readonly<Record<string, Json>>
}

/** The errand itself is wrong; the text says what. */
export class WrongErrand extends Schema.TaggedError<WrongErrand>()("WrongErrand", { message: Schema.String }) {}

export class AlreadyEnded extends Schema.TaggedError<AlreadyEnded>()("AlreadyEnded", {}) {}

export interface Desk {
  readonly owner: string
  /** `before`: done once the task is stored, and before anything happens to it. */
  readonly begin: (errand: Errand, before?: (id: string) => Effect.Effect<void, WrongErrand | Refusal.Refusal>) => Effect.Effect<A2aTask, WrongErrand | Refusal.Refusal>
  /** Null for an unknown task, and for another caller's. */
  readonly find: (id: string) => Effect.Effect<A2aTask | null, Refusal.Refusal>
  readonly list: (filter: Omit<TaskFilter, "owner">) => Effect.Effect<{ readonly tasks: ReadonlyArray<A2aTask>; readonly total: number }, Refusal.Refusal>
  readonly cancel: (id: string) => Effect.Effect<A2aTask | null, AlreadyEnded | Refusal.Refusal>
  readonly watch: (id: string) => Stream.Stream<A2aTask, StoreError>
}

const refusalOf = ({ reason }: TaskRefused): Refusal.Refusal => reason === "too-many"
  ? Refusal.tooManyRequests(`At most ${MOST_OF_ONE} tasks of one caller run at once: wait for one to end.`, 1)
  : Refusal.unavailable("The gateway is shutting down; repeat the request.", { headers: { "retry-after": "1" } })

/** `isLeft`: the client of this request has gone. */
export const make = (tasks: Tasks["Service"], services: SkillServices, caller: A2aCaller, isLeft: () => boolean): Desk => ({
  owner: caller.owner,
  begin: ({ contextId, messages, request, skill }, before = () => Effect.void) => Effect.suspend((): Effect.Effect<A2aTask, WrongErrand | Refusal.Refusal> => {
    if (messages.length === 0 || messages.length > MOST_MESSAGES) return Effect.fail(new WrongErrand({ message: `A task has 1 to ${MOST_MESSAGES} messages.` }))
    if (messages.every(({ content }) => content.trim() === "")) return Effect.fail(new WrongErrand({ message: "The messages hold no text." }))
    const ready = Skills.ready(services, skill, caller, request)
    if (typeof ready === "string") return Effect.fail(new WrongErrand({ message: ready }))
    return answer(Effect.catchTag(
      tasks.begin({ owner: caller.owner, skill, contextId, messages, request, isPrivate: caller.key?.policy.noLog === true }, ready, before),
      "TaskRefused", (refused) => Effect.fail(refusalOf(refused))
    ))
  }),
  find: (id) => answer(tasks.find(id, caller.owner)),
  list: (filter) => answer(tasks.list({ ...filter, owner: caller.owner })),
  cancel: (id) => tasks.cancel(id, caller.owner).pipe(
    Effect.catchTag("TaskRefused", (refused) => Effect.fail(refused.reason === "ended" ? new AlreadyEnded() : refusalOf(refused))),
    Effect.catchTag("StoreError", (error) => answer(Effect.fail(error)))
  ),
  watch: (id) => tasks.watch(id, caller.owner, isLeft)
})
