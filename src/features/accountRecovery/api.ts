import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { partial } from "#schemas/api/fields.ts"
import { AutoDisableSettings } from "#schemas/words/AutoDisable.ts"

const path = "/api/settings/auto-disable-accounts"

/** When banned accounts are taken out of use. */
export const AccountRecoveryGroup = HttpApiGroup.make("accountRecovery").add(
  HttpApiEndpoint.get("get", path, { success: AutoDisableSettings })
    .annotate(Access, reads).annotate(OpenApi.Summary, "When connections of banned accounts are taken out of use"),
  HttpApiEndpoint.put("put", path, { payload: partial(AutoDisableSettings), success: AutoDisableSettings })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Change the given fields")
).annotateMerge(OpenApi.annotations({ title: "Account recovery", description: "Connections whose upstream says that their account is banned." }))
