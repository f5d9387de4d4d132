/** One request actor as an effect: it ends when the actor has; interrupting it cuts the actor and waits for its row. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Inbound } from "#actors/request/Inbound.ts"
import type { LiveRequest } from "#actors/request/LiveRequest.ts"
import { RequestActor } from "#actors/request/Request.ts"
import type { Services } from "#actors/request/services.ts"

/** Where the fibers and the live requests of calls are. */
export interface CallServices {
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly live: { readonly add: (request: LiveRequest) => void; readonly remove: (request: LiveRequest) => void }
}

/** `began` is given the actor and its fiber at once; `cut` is called before the actor is interrupted. */
export const runCall = ({ fork, live }: CallServices, services: Services, inbound: Inbound, hooks: {
  readonly began?: (actor: RequestActor, fiber: Fiber.Fiber<void>) => void
  readonly cut?: () => void
} = {}): Effect.Effect<RequestActor> =>
  Effect.callback<RequestActor>((resume) => {
    const actor = new RequestActor(services, inbound)
    live.add(actor)
    const fiber = fork(actor.run)
    hooks.began?.(actor, fiber)
    fiber.addObserver(() => resume(Effect.succeed(actor)))
    return Effect.suspend(() => {
      hooks.cut?.()
      return Fiber.interrupt(fiber)
    })
  })
