import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { partial } from "#schemas/api/fields.ts"
import { PayloadRules } from "#schemas/words/PayloadRules.ts"

const path = "/api/settings/payload-rules"

/** `default-raw` is the older spelling of `defaultRaw`. */
export const PayloadRulesChange = Schema.Struct({
  ...partial(PayloadRules).fields, "default-raw": Schema.optionalKey(PayloadRules.fields.defaultRaw)
}).check(Schema.makeFilter((change) => change.defaultRaw === undefined || change["default-raw"] === undefined ||
  { path: ["default-raw"], issue: "Give defaultRaw or default-raw, not both" }))
export interface PayloadRulesChange extends Schema.Schema.Type<typeof PayloadRulesChange> {}

export const PayloadRulesGroup = HttpApiGroup.make("payloadRules").add(
  HttpApiEndpoint.get("get", path, { success: PayloadRules })
    .annotate(Access, reads).annotate(OpenApi.Summary, "What rules change in bodies"),
  HttpApiEndpoint.put("put", path, { payload: PayloadRulesChange, success: PayloadRules })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Replace the given lists of rules")
).annotateMerge(OpenApi.annotations({ title: "Payload rules", description: "What operators change in the bodies that upstreams are sent." }))
