/** What the records of this gateway declare, for features that hand it on to another gateway. */
import * as Effect from "effect/Effect"
import { scopeRank } from "#actors/keys/scopes.ts"
import * as Exporting from "#src/features/configFile/exporting.ts"
import { kinds } from "#src/features/configFile/kinds.ts"
import { type Inner, type Json, listAt, textAt, type ToolFailure } from "#src/management/inner/Inner.ts"

export type Declared = ReturnType<typeof Exporting.contentOf>

const manages = (key: Json): boolean => scopeRank(listAt(key, "scopes").map(String)) > 0

/** Without flags, which guard each gateway by itself, and without keys that manage a gateway. */
export const shared = (inner: Inner): Effect.Effect<Declared, ToolFailure> => Effect.gen(function*() {
  const records = new Map<(typeof kinds)[number]["kind"], ReadonlyArray<Json>>()
  let managing: ReadonlyArray<Json> = []
  for (const { kind, list } of kinds) {
    if (kind === "flag") continue
    const all = yield* list(inner)
    if (kind === "key") managing = all.filter(manages)
    records.set(kind, managing.length === 0 ? all : all.filter((record) => !managing.includes(record)))
  }
  const { content, leftOut, variables } = Exporting.contentOf(records)
  return { content, variables, leftOut: [...leftOut, ...managing.map((key) => ({ kind: "key" as const, name: textAt(key, "name"), why: "it manages a gateway" }))] }
})
