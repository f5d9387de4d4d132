/** Fallback chains as operators write and read them: with the names of providers instead of their ids. Pure. */
import { shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import type { FieldIssue } from "#schemas/api/Refusal.ts"
import { type ChainInput, type FallbackChain, ordered } from "#schemas/words/FallbackChains.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"

export const shown = (snapshot: Snapshot, { chain, model }: FallbackChain): FallbackChain =>
  ({ model, chain: ordered(chain).map((link) => ({ ...link, provider: shownProvider(snapshot, link.provider) })) })

/** With the ids of its providers; or what is wrong with it. */
export const read = (snapshot: Snapshot, { chain, model }: ChainInput): FallbackChain | ReadonlyArray<FieldIssue> => {
  const issues: Array<FieldIssue> = []
  const slash = model.indexOf("/")
  if (/[\p{Cc}\p{Cs}]/u.test(model)) issues.push({ field: "model", message: "Expected no control characters" })
  else if (slash > 0 && knownProvider(snapshot, model.slice(0, slash)) !== null) {
    issues.push({ field: "model", message: "Expected a model id without a provider: one with a provider goes to it" })
  }
  const links = chain.map(({ enabled = true, priority, provider }, index) => {
    const id = knownProvider(snapshot, provider)
    if (id === null) issues.push({ field: `chain.${index}.provider`, message: unknownProvider(provider) })
    return { provider: id ?? provider, priority: priority ?? index + 1, enabled }
  })
  return issues.length > 0 ? issues : { model, chain: links }
}
