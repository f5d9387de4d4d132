/** What happens in the gateway, for whoever listens (webhooks). Synchronous and cheap: emitters never wait and never fail. */
import * as Context from "effect/Context"
import type { GatewayEvent } from "#schemas/events.ts"

export class Events extends Context.Service<Events, {
  /** Whether anybody listens, so that an emitter need not build data for nobody. */
  readonly wants: (type: GatewayEvent["type"]) => boolean
  readonly publish: (event: GatewayEvent) => void
}>()("gateway/ports/Events") {}
