/**
 * Tells the receivers of a task's changes how it stands: over the guarded post, a few times with growing pauses. A receiver is an
 * address with credentials that a client gave, so it is sealed at rest and named in the log by its task alone.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as GuardedPost from "#src/platform/upstream/post/GuardedPost.ts"
import type { A2aTask } from "./ports/A2aTask.ts"
import { A2aTaskStore } from "./ports/A2aTaskStore.ts"

/** Receivers of one task. */
export const MOST_RECEIVERS = 5
/** Calls after the first. */
const RETRIES = 3
/** Before the second call, ms; each further pause is twice as long. */
const PAUSE_MS = 1_000

export const Receiver = Schema.Struct({
  url: Schema.String,
  token: Schema.String,
  scheme: Schema.String,
  credentials: Schema.String,
  /** Version of the protocol in which it was registered. */
  version: Schema.String
})
export interface Receiver extends Schema.Schema.Type<typeof Receiver> {}

const json = Schema.fromJsonString(Receiver)
export const encode = Schema.encodeSync(json)
export const decode = Schema.decodeUnknownOption(json)

export class Pushes extends Context.Service<Pushes, {
  /** Never fails; returns when every receiver has heard of it, or will not. */
  readonly tell: (task: A2aTask) => Effect.Effect<void>
}>()("gateway/a2a/Pushes") {}

const headersOf = ({ credentials, scheme, token }: Receiver): Readonly<Record<string, string>> =>
  scheme !== "" && credentials !== "" ? { authorization: `${scheme} ${credentials}` } : token !== "" ? { "x-a2a-notification-token": token } : {}

export const make = (options: GuardedPost.Options = {}) => Effect.gen(function*() {
  const post = yield* GuardedPost.make(options)
  const store = yield* A2aTaskStore

  const one = (task: A2aTask, receiver: Receiver) => Effect.gen(function*() {
    // Loaded with the first receiver: most gateways have none.
    const { notification } = yield* Effect.promise(() => import("./protocol/notification.ts"))
    const { body, contentType } = notification(task, receiver.version)
    const form = { url: receiver.url, headers: { ...headersOf(receiver), "content-type": contentType, "user-agent": "Gateway-A2A/1.0" }, body }
    const attempt = (left: number, pauseMs: number): Effect.Effect<void> => Effect.flatMap(post(form), ({ blocked, error }) => {
      if (error === null) return Effect.void
      if (blocked || left === 0) return Effect.logWarning(`a receiver of the agent task ${task.id} was not told that it is ${task.state}: ${error}`)
      return Effect.delay(attempt(left - 1, 2 * pauseMs), pauseMs)
    })
    yield* attempt(RETRIES, PAUSE_MS)
  })

  return Pushes.of({
    tell: (task) => store.configs(task.id).pipe(
      Effect.flatMap((configs) => Effect.forEach(configs, ({ receiver }) => {
        const known = decode(Redacted.value(receiver))
        return known._tag === "None" ? Effect.void : one(task, known.value)
      }, { concurrency: MOST_RECEIVERS, discard: true })),
      Effect.catch((error) => Effect.logWarning(`the receivers of the agent task ${task.id} could not be read: ${error.message}`)),
      Effect.catchDefect((defect) => Effect.logError(`the receivers of the agent task ${task.id} were not told`, defect))
    )
  })
})

export const layer = (options: GuardedPost.Options = {}) => Layer.effect(Pushes, make(options))
