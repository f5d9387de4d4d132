/** The management API's side of the table of what acts: a field that does not is refused, by its name. */
import * as Effect from "effect/Effect"
import { features } from "#schemas/acting/features.ts"
import { inertIn, type Table } from "#src/management/acting/ActingTable.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { FlagDefinition } from "#schemas/flagCatalogue.ts"

/** `input`: what a client sent, decoded. Neutral values pass: they ask for what is so anyway. */
export const refuseInert = (table: Table, input: object): Effect.Effect<void, Refusal.Refusal> => Effect.suspend(() => {
  const inert = inertIn(table, input)
  if (inert.length === 0) return Effect.void
  return Effect.fail(Refusal.notSupportedYet(inert.map(({ field, row }) => ({
    field, message: `Part of: ${features[row.lacks].title}. Only ${JSON.stringify(row.neutral)} is taken`
  }))))
})

/** An override of a flag that nothing reads would say that something changed; its default passes, as neutral values do. */
export const refuseInertFlag = ({ defaultValue, key, lacks }: FlagDefinition, value: string): Effect.Effect<void, Refusal.Refusal> => Effect.suspend(() =>
  lacks === null || value === defaultValue
    ? Effect.void
    : Effect.fail(Refusal.notSupportedYet([{ field: key, message: `Part of: ${features[lacks].title}. Only ${defaultValue} is taken` }])))
