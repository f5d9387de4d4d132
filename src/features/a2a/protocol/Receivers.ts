/** Receivers of one caller's tasks: looked at by the guard before they are kept, and sealed there. */
import type { TaskPushNotificationConfig } from "@a2a-js/sdk"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { UrlGuard } from "#actors/ports/UrlGuard.ts"
import type * as Refusal from "#schemas/api/Refusal.ts"
import { LONGEST_ID, WrongErrand } from "#src/features/a2a/Desk.ts"
import type { A2aTaskStore } from "#src/features/a2a/ports/A2aTaskStore.ts"
import * as Pushes from "#src/features/a2a/Pushes.ts"
import { answer } from "#src/management/answer.ts"

const LONGEST_URL = 2_000
const LONGEST_SECRET = 2_000

/** What a header may carry. */
const printable = /^[\x20-\x7e]*$/
const word = /^[\w-]*$/

type Config = TaskPushNotificationConfig
type Op<A> = Effect.Effect<A, WrongErrand | Refusal.Refusal>

export interface Receivers {
  /** Fails for an address that may not be called. */
  readonly check: (config: Config) => Op<void>
  readonly put: (taskId: string, config: Config) => Op<void>
  readonly list: (taskId: string) => Op<Array<Config>>
  readonly remove: (taskId: string, id: string) => Op<void>
}

export const make = (guard: UrlGuard["Service"], store: A2aTaskStore["Service"], version: string): Receivers => {
  const wrong = (message: string): Op<never> => Effect.fail(new WrongErrand({ message }))
  const stored = <A>(effect: Effect.Effect<A, StoreError>): Op<A> => answer(effect)

  const check: Receivers["check"] = ({ authentication, id, token, url }) => Effect.gen(function*() {
    if (url === "" || url.length > LONGEST_URL) return yield* wrong(`url: 1 to ${LONGEST_URL} characters`)
    if (id.length > LONGEST_ID) return yield* wrong(`id: at most ${LONGEST_ID} characters`)
    const { credentials = "", scheme = "" } = authentication ?? {}
    if ([token, credentials].some((secret) => secret.length > LONGEST_SECRET || !printable.test(secret)) || !word.test(scheme)) {
      return yield* wrong("token and authentication: what a header may carry, at most 2000 characters")
    }
    yield* Effect.mapError(guard.check(url, "webhook"), ({ message }) => new WrongErrand({ message: `url: ${message}` }))
  })

  return {
    check,
    put: (taskId, config) => Effect.gen(function*() {
      yield* check(config)
      const known = yield* stored(store.configs(taskId))
      if (known.length >= Pushes.MOST_RECEIVERS && known.every(({ id }) => id !== config.id)) return yield* wrong(`A task has at most ${Pushes.MOST_RECEIVERS} receivers.`)
      const { authentication, id, token, url } = config
      yield* stored(store.putConfig({
        taskId, id, receiver: Redacted.make(Pushes.encode({ url, token, scheme: authentication?.scheme ?? "", credentials: authentication?.credentials ?? "", version }))
      }))
    }),
    list: (taskId) => Effect.map(stored(store.configs(taskId)), (configs) => configs.flatMap(({ id, receiver }): Array<Config> => {
      const known = Pushes.decode(Redacted.value(receiver))
      if (known._tag === "None") return []
      const { credentials, scheme, token, url } = known.value
      return [{ tenant: "", id, taskId, url, token, authentication: scheme === "" && credentials === "" ? undefined : { scheme, credentials } }]
    })),
    remove: (taskId, id) => stored(store.removeConfig(taskId, id === "" ? taskId : id))
  }
}
