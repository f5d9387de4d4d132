import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { ConnectionView } from "#src/features/providers/api.ts"
import { Owner } from "#schemas/FileOwned.ts"
import { NodeApiType, NodeType, ProviderNode } from "#schemas/records/ProviderNode.ts"
import { Access, administers, reads } from "#schemas/api/Access.ts"
import { clearable, integer, Success, text } from "#schemas/api/fields.ts"

const opt = Schema.optionalKey
const path = Schema.String.check(Schema.isBetweenLength(1, 500), Schema.isPattern(/^\/\S*$/, { message: "Must start with /" }))

const fields = {
  name: text(1, 200),
  prefix: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
    message: "Expected 1 to 64 letters, digits, dots, dashes or underscores"
  })),
  apiType: clearable(NodeApiType),
  baseUrl: opt(text(1, 2000)),
  chatPath: clearable(path),
  modelsPath: clearable(path),
  iconUrl: clearable(Schema.String.check(Schema.isMaxLength(360_000))),
  customHeaders: clearable(Schema.Record(Schema.String, Schema.String)),
  dailyQuotaResetTimezone: clearable(text(1, 64)),
  dailyQuotaResetHour: clearable(integer(0, 23))
}

/** `apiKey`: the credential of the node's first connection, made in the same call; null for a server that asks for none. */
export const NewNode = Schema.Struct({ type: NodeType, ...fields, apiKey: clearable(text(1, 100_000)) })
export interface NewNode extends Schema.Schema.Type<typeof NewNode> {}

/** The type of a node never changes; everything else may. */
export const NodeChange = Schema.Struct({ ...fields, type: opt(NodeType), name: opt(fields.name), prefix: opt(fields.prefix) })
export interface NodeChange extends Schema.Schema.Type<typeof NodeChange> {}

/** A node as replies show it: header values that carry a credential read `[redacted]`. */
export const NodeView = Schema.Struct({ ...ProviderNode.fields, owner: Owner }).annotate({ identifier: "ProviderNode" })
export interface NodeView extends Schema.Schema.Type<typeof NodeView> {}

const one = Schema.Struct({ node: NodeView })
const made = Schema.Struct({ node: NodeView, connection: opt(ConnectionView) })
const id = { id: Schema.String }

/** Operator-defined compatible endpoints. */
export const ProviderNodesGroup = HttpApiGroup.make("providerNodes").add(
  HttpApiEndpoint.get("list", "/api/provider-nodes", { success: Schema.Struct({ nodes: Schema.Array(NodeView) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "All provider nodes"),
  HttpApiEndpoint.post("create", "/api/provider-nodes", { payload: NewNode, success: made.pipe(HttpApiSchema.status(201)) })
    .annotate(Access, administers).annotate(OpenApi.Summary, "Define an OpenAI- or Anthropic-compatible endpoint"),
  HttpApiEndpoint.post("validate", "/api/provider-nodes/validate", {
    payload: Schema.Struct({
      baseUrl: text(1, 2000),
      apiKey: opt(Schema.String.check(Schema.isMaxLength(100_000))),
      type: opt(NodeType),
      apiType: opt(NodeApiType),
      chatPath: clearable(path),
      modelsPath: clearable(path),
      modelId: opt(text(0, 240))
    }),
    success: Schema.Struct({ valid: Schema.Boolean, error: Schema.NullOr(Schema.String) })
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Call an endpoint's model list without storing the node"),
  HttpApiEndpoint.get("get", "/api/provider-nodes/:id", { params: id, success: one })
    .annotate(Access, reads).annotate(OpenApi.Summary, "One provider node"),
  HttpApiEndpoint.put("update", "/api/provider-nodes/:id", { params: id, payload: NodeChange, success: one })
    .annotate(Access, administers).annotate(OpenApi.Summary, "Change a node; its connections follow"),
  HttpApiEndpoint.delete("remove", "/api/provider-nodes/:id", { params: id, success: Success })
    .annotate(Access, administers).annotate(OpenApi.Summary, "Delete a node and its connections")
).annotateMerge(OpenApi.annotations({ title: "Provider nodes", description: "Operator-defined compatible endpoints, addressed as <prefix>/<model>." }))
