import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { SentBack, sentBack } from "#schemas/api/SentBack.ts"
import { integer, Success, text } from "#schemas/api/fields.ts"
import { ProxyType } from "#schemas/egress/Proxy.ts"
import { ProxySubscription } from "./ProxySubscription.ts"

const opt = Schema.optionalKey
const id = text(1, 200)
const PATH = "/api/v1/management/proxy-subscriptions"

const fields = {
  /** `http` unless said: of entries that do not say theirs. */
  type: opt(ProxyType),
  enabled: opt(Schema.Boolean),
  /** Between two readings; an hour unless said. */
  intervalSeconds: opt(integer(300, 604_800))
}
export const NewSubscription = Schema.Struct({ name: text(1, 100), url: text(1, 2_000), ...fields })
export type NewSubscription = typeof NewSubscription.Type

/** A `url` as it is shown keeps what is stored. */
export const SubscriptionChange = Schema.Struct({ id, name: opt(text(1, 100)), url: opt(text(1, 2_000)), ...fields })
export type SubscriptionChange = typeof SubscriptionChange.Type

/** `url` shows the host alone. */
const SubscriptionView = Schema.Struct({ ...ProxySubscription.fields, url: Schema.String }).annotate({ identifier: "ProxySubscription" })
export type SubscriptionView = typeof SubscriptionView.Type

const flag = Schema.Literals(["0", "1", "true", "false"])

export const ProxySubscriptionsGroup = HttpApiGroup.make("proxySubscriptions").add(
  HttpApiEndpoint.get("list", PATH, { success: Schema.Struct({ items: Schema.Array(SubscriptionView), total: Schema.Int }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "All lists of outbound proxies, and how their last reading went"),
  HttpApiEndpoint.post("create", PATH, { payload: NewSubscription, success: SubscriptionView.pipe(HttpApiSchema.status(201)) })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Add a list; it is read within 30 seconds, and its proxies become records of the registry"),
  HttpApiEndpoint.patch("update", PATH, { payload: SubscriptionChange, success: SubscriptionView })
    .annotate(SentBack, sentBack({ by: ["id"], moves: ["entryCount", "skippedCount", "triedAt", "refreshedAt", "error"] })).annotate(Access, writes).annotate(OpenApi.Summary, "Change the list that id names"),
  HttpApiEndpoint.delete("remove", PATH, { query: { id, force: opt(flag) }, success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Remove a list with its proxies; 409 while something is assigned to one, unless force=1 removes that, too"),
  HttpApiEndpoint.post("refresh", `${PATH}/refresh`, {
    payload: Schema.Struct({ id }), success: Schema.Struct({ subscription: SubscriptionView, added: Schema.Int, removed: Schema.Int })
  }).annotate(Access, writes).annotate(OpenApi.Summary, "Read a list now; error says why it could not be read")
).annotateMerge(OpenApi.annotations({ title: "Lists of outbound proxies", description: "Lists at URLs whose proxies the registry follows." }))
