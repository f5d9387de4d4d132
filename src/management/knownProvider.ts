/** The provider that an operator names: by its id, an alias of it, or a node's prefix. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import { builtin } from "#src/providers/Registry.ts"

/** Its id; null when there is none of that name. */
export const knownProvider = (snapshot: Pick<Snapshot, "nodeById" | "nodeByPrefix">, name: string): string | null =>
  builtin.byPrefix.get(name)?.id ?? snapshot.nodeByPrefix.get(name)?.id ?? snapshot.nodeById.get(name)?.id ?? null

/** The error for an operator that named an unknown one. */
export const unknownProvider = (name: string): string =>
  `No provider has the id or prefix '${name.slice(0, 120)}': see GET /api/providers and GET /api/provider-nodes`
