/** Whether a caller may open a socket of live events, and keep one that is open. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Configuration } from "#actors/ports/Configuration.ts"
import { reads } from "#schemas/api/Access.ts"
import type { Caller } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Callers, type Presented } from "#src/management/authentication/Callers.ts"
import { admit } from "#src/management/authentication/rights.ts"
import * as Addresses from "#src/platform/gate/addresses.ts"
import * as Origin from "#src/platform/gate/origin.ts"

/** A caller that a browser can be made to act for without knowing a secret. */
const isAmbient = ({ kind }: Caller): boolean => kind === "session" || kind === "open"

export const foreign = Refusal.forbidden("The request comes from another origin", { code: "AUTH_CSRF" })

/** `allowedOrigins`: of other pages that may listen. */
export const make = Effect.fnUntraced(function*(allowedOrigins: ReadonlyArray<string>) {
  const callers = yield* Callers
  const clock = yield* Clock.Clock
  const configuration = yield* Configuration
  const addresses = Addresses.make(() => configuration.current().settings, () => clock.currentTimeMillisUnsafe())

  const mayListen = (presented: Presented): Effect.Effect<Caller, Refusal.Refusal> => Effect.gen(function*() {
    const unserved = addresses.refusal(presented.remoteAddress ?? "")
    if (unserved !== null) return yield* Effect.fail(Refusal.forbidden(unserved.message, { code: unserved.code }))
    const { caller, refusedBearer } = yield* answer(callers.identify(presented))
    const requireLogin = configuration.current().settings.get("requireLogin") !== false
    const admitted = admit(reads, { caller, refusedBearer, loopback: Origin.isLoopback(presented), requireLogin, bypassesLocality: false, hasPassword: true })
    if (admitted instanceof Refusal.Refusal) return yield* Effect.fail(admitted)
    const { origin } = presented.headers
    const isListed = origin !== undefined && allowedOrigins.includes(origin)
    return isAmbient(admitted) && !isListed && !Origin.isSameOrigin((name) => presented.headers[name]) ? yield* Effect.fail(foreign) : admitted
  })

  return { mayListen, addresses }
})
