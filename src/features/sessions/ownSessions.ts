/** GET /v1/me/sessions: the sessions of the key that asks, and of no other. */
import * as Effect from "effect/Effect"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import * as Errors from "#schemas/errors.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { Inference } from "#src/inference/lane/services/Inference.ts"
import * as KeyReads from "#src/inference/lane/services/KeyReads.ts"
import { sessionsOf } from "./ports/clientSessions.ts"

const hourMs = 3_600_000
/** Newest attempts of the key that sessions are read from. */
const rowsMax = 10_000
const category = "models" as const

const endpoint = Endpoint.make("GET", "/v1/me/sessions", category)
export const endpoints: ReadonlyArray<Endpoint.Endpoint> = [endpoint]

export const routes = Effect.gen(function*() {
  const { now } = yield* Forks
  const store = yield* UsageStore
  const { sessions } = yield* Inference

  return yield* KeyReads.mounted([{
    endpoint,
    category,
    noun: "The sessions of the key",
    answer: Effect.fn("OwnSessions.read")(function*(key) {
      if (key === null) return Errors.make("invalid_api_key", "Sessions are those of a key: send 'Authorization: Bearer <key>'.")
      const at = now()
      const rows = yield* store.rows({ apiKeyId: key.id, since: at - hourMs, limit: rowsMax })
      const own = sessionsOf(rows, sessions.list(at).filter(({ keyId }) => keyId === key.id), at)
      // Which connection served them is not the key's to know.
      return { count: own.count, sessions: own.sessions.map(({ connectionId: _connection, ...session }) => session) }
    })
  }])
})
