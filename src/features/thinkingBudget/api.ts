import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { partial } from "#schemas/api/fields.ts"
import { ThinkingBudgetSettings } from "#schemas/words/ThinkingBudget.ts"

const path = "/api/settings/thinking-budget"

/** How much models think, whatever clients ask. */
export const ThinkingBudgetGroup = HttpApiGroup.make("thinkingBudget").add(
  HttpApiEndpoint.get("get", path, { success: ThinkingBudgetSettings })
    .annotate(Access, reads).annotate(OpenApi.Summary, "How much models think"),
  HttpApiEndpoint.put("put", path, { payload: partial(ThinkingBudgetSettings), success: ThinkingBudgetSettings })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Change the given fields of how much models think")
).annotateMerge(OpenApi.annotations({ title: "Thinking budget", description: "How much models think, whatever clients ask." }))
