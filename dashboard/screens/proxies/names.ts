/** What a proxy can be assigned to, with the names that people gave: connections, combos, keys and providers. */
import { useEveryKey } from "../../api/everyKey.ts"
import { useRead } from "../../api/query.ts"
import { useShownProvider, useVendors } from "../providers/vendors.ts"
import type { Scope } from "./words.ts"

export interface Target {
  readonly id: string
  readonly name: string
}

/** By scope; `global` has none. */
export const useTargets = (): Readonly<Record<Scope, ReadonlyArray<Target>>> => {
  const connections = useRead("GET /api/providers").data?.connections ?? []
  const combos = useRead("GET /api/combos").data?.combos ?? []
  const keys = useEveryKey().data ?? []
  const vendors = useVendors()
  const shownProvider = useShownProvider()
  return {
    global: [], provider: vendors.map(({ id, name }) => ({ id, name: name === id || name === "" ? id : `${name} (${id})` })),
    account: connections.map(({ id, name, provider }) => ({ id, name: `${name} of ${shownProvider(provider)}` })),
    combo: combos.map(({ id, name }) => ({ id, name })), key: keys.map(({ id, name }) => ({ id, name }))
  }
}
