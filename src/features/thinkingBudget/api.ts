import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { ThinkingBudgetSettings } from "#schemas/words/ThinkingBudget.ts"

const opt = Schema.optionalKey
const { baseBudget, complexityMultiplier, customBudget, effortLevel, mode } = ThinkingBudgetSettings.fields

/** What is absent stays. */
const ThinkingBudgetChange = Schema.Struct({
  mode: opt(mode), customBudget: opt(customBudget), effortLevel: opt(effortLevel), baseBudget: opt(baseBudget), complexityMultiplier: opt(complexityMultiplier)
})
export interface ThinkingBudgetChange extends Schema.Schema.Type<typeof ThinkingBudgetChange> {}

const path = "/api/settings/thinking-budget"

/** How much models think, whatever clients ask. */
export const ThinkingBudgetGroup = HttpApiGroup.make("thinkingBudget").add(
  HttpApiEndpoint.get("get", path, { success: ThinkingBudgetSettings })
    .annotate(Access, reads).annotate(OpenApi.Summary, "How much models think"),
  HttpApiEndpoint.put("put", path, { payload: ThinkingBudgetChange, success: ThinkingBudgetSettings })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Change the given fields of how much models think")
).annotateMerge(OpenApi.annotations({ title: "Thinking budget", description: "How much models think, whatever clients ask." }))
