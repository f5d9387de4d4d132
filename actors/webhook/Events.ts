/** Events of the gateway for its listeners (webhooks). Synchronous and cheap: emitters never wait and never fail. */
import * as Context from "effect/Context"
import type { GatewayEvent } from "#schemas/events.ts"

export class Events extends Context.Service<Events, {
  /** Whether there is a listener, so that an emitter does not build data in vain. */
  readonly wants: (type: GatewayEvent["type"]) => boolean
  readonly publish: (event: GatewayEvent) => void
}>()("gateway/ports/Events") {}
