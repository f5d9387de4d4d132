/** The management API's side of the table of what acts: a field that does not is refused, by its name. */
import * as Effect from "effect/Effect"
import { features } from "#schemas/acting/features.ts"
import { inertIn, type Table } from "#src/management/acting/ActingTable.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { FlagDefinition } from "#schemas/flagCatalogue.ts"

/** The fields of an input that ask for what is not built. */
export const inertIssues = (table: Table, input: object): ReadonlyArray<Refusal.FieldIssue> => inertIn(table, input).map(({ field, row }) => ({
  field, message: `Part of: ${features[row.lacks].title}. Only ${JSON.stringify(row.neutral)} is taken`
}))

/** `input`: what a client sent, decoded. Neutral values pass: they ask for what is so anyway. */
export const refuseInert = (table: Table, input: object): Effect.Effect<void, Refusal.Refusal> => Effect.suspend(() => {
  const inert = inertIssues(table, input)
  return inert.length === 0 ? Effect.void : Effect.fail(Refusal.notSupportedYet(inert))
})

/** An override of a flag that nothing reads would say that something changed; its default passes, as neutral values do. Null = it passes. */
export const inertFlagIssue = ({ defaultValue, key, lacks }: FlagDefinition, value: string): Refusal.FieldIssue | null =>
  lacks === null || value === defaultValue ? null : { field: key, message: `Part of: ${features[lacks].title}. Only ${defaultValue} is taken` }

export const refuseInertFlag = (flag: FlagDefinition, value: string): Effect.Effect<void, Refusal.Refusal> => Effect.suspend(() => {
  const issue = inertFlagIssue(flag, value)
  return issue === null ? Effect.void : Effect.fail(Refusal.notSupportedYet([issue]))
})
