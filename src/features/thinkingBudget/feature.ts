/** How much models think, whatever clients ask. */
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { ThinkingBudgetGroup } from "./api.ts"
import * as Http from "./http.ts"

export const thinkingBudget = Feature.make({
  name: "thinkingBudget",
  groups: [ThinkingBudgetGroup],
  handlers: Http.layer,
  acting: [Acting.thinkingBudget]
})
