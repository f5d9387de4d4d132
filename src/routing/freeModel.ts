/** The free model that serves requests whose budget is used up (flag GATEWAY_EMERGENCY_FALLBACK). Pure over the snapshot. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { Price } from "#schemas/Provider.ts"
import { priceOf, viewOf } from "#src/providers/pricing.ts"

/** Tokens and requests cost nothing, as far as the price that is charged says. */
export const isFree = (price: Price | null): boolean => price !== null && price.input === 0 && price.output === 0 && (price.per_request ?? 0) === 0

/** `named` (GATEWAY_EMERGENCY_FALLBACK_MODEL), else the chat models with a price of 0 of providers that have a connection. */
export const freeModelsOf = (snapshot: Pick<Snapshot, "activeByProvider" | "pricing" | "synced">, named: string | null): ReadonlyArray<string> => {
  if (named !== null) return [named]
  const view = viewOf(snapshot)
  return view.registry.all.flatMap((provider) => snapshot.activeByProvider.has(provider.id)
    ? provider.models.flatMap(({ id, kind }) => kind === "chat" && isFree(priceOf(view, provider.id, id)) ? [`${provider.id}/${id}`] : [])
    : [])
}
