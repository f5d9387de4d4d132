/** Tools that search the web. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { make, type Tool } from "./Tool.ts"

const provider = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))

export const searching: ReadonlyArray<Tool> = [
  make({
    name: "gateway_web_search", brief: "Searches the web.", scopes: ["execute:search"], phase: 1, auditLevel: "basic",
    description: "Searches the web or the news with the search providers of the gateway: the named one, or else the cheapest that is connected.",
    sourceEndpoints: ["/v1/search"],
    args: Schema.Struct({
      query: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500)),
      max_results: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 }))),
      search_type: Schema.optionalKey(Schema.Literals(["web", "news"])), provider: Schema.optionalKey(provider)
    }),
    run: ({ max_results = 5, provider, query, search_type = "web" }, inner) =>
      Effect.map(inner.infer("/v1/search", { query, max_results, search_type, ...(provider === undefined ? {} : { provider }) }), ({ answer }) => answer)
  })
]
