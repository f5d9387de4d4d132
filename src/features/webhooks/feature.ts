/** Webhooks: events sent to other systems. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { WebhooksGroup } from "./api.ts"
import * as EventTelemetry from "./EventTelemetry.ts"
import * as Http from "./http.ts"
import * as ManagedWebhooks from "./ManagedWebhooks.ts"
import version5 from "./migrations/0005_webhooks.ts"
import version14 from "./migrations/0014_webhookSince.ts"
import * as PostgresWebhookStore from "./PostgresWebhookStore.ts"
import * as Sending from "./sending.ts"
import { degradation } from "./degradation.ts"

export const webhooks = Feature.make({
  name: "webhooks",
  groups: [WebhooksGroup],
  handlers: Layer.provide(Http.layer, ManagedWebhooks.layer),
  stores: PostgresWebhookStore.layer,
  migrations: { "5_webhooks": version5, "14_webhookSince": version14 },
  acting: [Acting.webhook],
  degradation,
  listeners: Sending.layerOf,
  services: () => EventTelemetry.layer
})
