/** Proposals for a field that takes a model: those of connected providers, and combos. */
import { useRead } from "../../api/query.ts"
import { useShownProvider } from "../providers/vendors.ts"

/** Providers whose models can be called, as clients name them. */
export const useConnected = (): ReadonlySet<string> => {
  const connections = useRead("GET /api/providers").data?.connections ?? []
  const shownProvider = useShownProvider()
  return new Set(["sim", ...connections.map(({ provider }) => shownProvider(provider))])
}

export const ModelNames = ({ id }: { readonly id: string }) => {
  const models = useRead("GET /api/pricing/models").data?.models ?? []
  const combos = useRead("GET /api/combos").data?.combos ?? []
  const connected = useConnected()
  return <datalist id={id}>{[...models.filter(({ provider }) => connected.has(provider)).map(({ model, provider }) => `${provider}/${model}`), ...combos.map(({ name }) => name)].map((name) => <option key={name} value={name}>{name}</option>)}</datalist>
}
