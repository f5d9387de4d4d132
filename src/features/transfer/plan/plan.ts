/** What an import of a document would do to a configuration. Pure. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { Document } from "#src/features/transfer/document.ts"
import * as Combos from "./combos.ts"
import { connections } from "./connections.ts"
import * as Documents from "./documents.ts"
import { Draft, type Making } from "./Draft.ts"
import { models } from "./models.ts"
import { nodes } from "./nodes.ts"

/** Ids that it may take at most. */
export const idsOf = ({ combos = [], connections: given = [], mappings = [], nodes: prefixes = [] }: Document): number =>
  prefixes.length + given.length + mappings.length + combos.reduce((sum, { models: steps = [] }) => sum + steps.length + 1, 0)

/** What others refer to comes first. */
export const make = (document: Document, before: Snapshot, making: Making): Draft => {
  const draft = new Draft(before, making)
  nodes(draft, document.nodes ?? [])
  Documents.settings(draft, document.settings ?? {})
  Documents.flags(draft, document.flags ?? {})
  connections(draft, document.connections ?? [])
  models(draft, document.models ?? [])
  Documents.aliases(draft, document.aliases ?? {})
  Combos.combos(draft, document.combos ?? [])
  Combos.mappings(draft, document.mappings ?? [])
  Documents.prices(draft, document.prices ?? {})
  return draft
}
