import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { featureNames, features } from "#schemas/acting/features.ts"
import * as FlagCatalogue from "#schemas/flagCatalogue.ts"
import type { Table } from "#src/management/acting/ActingTable.ts"
import { Assembled } from "#src/management/Assembled.ts"
import { type Capabilities, CapabilitiesGroup } from "./api.ts"
import { version } from "#schemas/version.ts"
import * as Surface from "#src/management/Surface.ts"

const counted = (rows: ReadonlyArray<{ readonly acts: boolean }>) => {
  const acting = rows.filter((row) => row.acts).length
  return { acting, inert: rows.length - acting }
}

/** The same on every node and as long as the process runs. */
const capabilities = (tables: ReadonlyArray<Table>): Capabilities => {
  const fields = tables.flatMap(({ record, rows }) => Object.entries(rows).map(([field, row]) =>
    row.acts ? { record, field, acts: true, lacks: null } : { record, field, acts: false, lacks: row.lacks, neutral: row.neutral }))
  const ofFlags = FlagCatalogue.catalogue.map(({ key, lacks }) => ({ key, acts: lacks === null, lacks }))
  return {
    version,
    summary: { fields: counted(fields), flags: counted(ofFlags) },
    missingFeatures: featureNames.map((name) => ({ name, ...features[name] })),
    fields,
    flags: ofFlags
  }
}

export const layer = HttpApiBuilder.group(Surface.make(CapabilitiesGroup), "capabilities", Effect.fn(function*(handlers) {
  const reply = capabilities((yield* Assembled).acting)
  return handlers.handleAll({ read: () => Effect.succeed(reply) })
}))
