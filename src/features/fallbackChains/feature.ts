/** Fallback chains: which providers serve a model id without a provider, in which order. */
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { FallbackChainsGroup } from "./api.ts"
import * as Http from "./http.ts"

export const fallbackChains = Feature.make({
  name: "fallbackChains",
  groups: [FallbackChainsGroup],
  handlers: Http.layer,
  acting: [Acting.fallbackChains]
})
