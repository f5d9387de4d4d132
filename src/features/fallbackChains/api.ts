import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { Success, text } from "#schemas/api/fields.ts"
import { ChainInput, FallbackChain } from "#schemas/words/FallbackChains.ts"

const path = "/api/fallback/chains"

/** Providers that serve a model id without a provider, in their order. */
export const FallbackChainsGroup = HttpApiGroup.make("fallbackChains").add(
  HttpApiEndpoint.get("list", path, { success: Schema.Struct({ chains: Schema.Array(FallbackChain) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Fallback chains by model; providers in the order in which they are asked"),
  HttpApiEndpoint.post("put", path, { payload: ChainInput, success: FallbackChain })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Set the chain of a model; one that it has is replaced"),
  HttpApiEndpoint.delete("remove", path, { payload: Schema.Struct({ model: text(1, 200) }), success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Remove the chain of a model")
).annotateMerge(OpenApi.annotations({ title: "Fallback chains", description: "Providers that serve a model id without a provider, in their order." }))
