/** What a database lacks of this release's schema, and the statements that mend it. Pure. */

export const kinds = ["function", "table", "column", "constraint", "index", "trigger"] as const
export type Kind = typeof kinds[number]

/** A part of a schema, as the database describes it. Names of its own schema stand nowhere in it. */
export interface Part {
  readonly kind: Kind
  /** Empty for a function. */
  readonly table: string
  readonly name: string
  readonly definition: string
  /** False for an index that was not finished: no query uses it. */
  readonly isValid: boolean
}

export interface Drift {
  readonly kind: Kind
  readonly table: string
  readonly name: string
  readonly problem: "missing" | "changed" | "invalid"
  /** False for what only an operator can decide: it would touch rows. */
  readonly repairable: boolean
}

const keyOf = ({ kind, name, table }: Pick<Part, "kind" | "name" | "table">): string => JSON.stringify([kind, table, name])

/** A column without a value for the rows that are there cannot be added. */
const needsValue = ({ definition, kind }: Part): boolean => kind === "column" && definition.endsWith(" NOT NULL") && !/ (?:DEFAULT|GENERATED) /.test(definition)

const problemOf = (expected: Part, found: Part | undefined): Drift["problem"] | null => {
  if (found === undefined) return "missing"
  if (found.definition !== expected.definition) return "changed"
  return found.isValid ? null : "invalid"
}

/** In the order in which they can be mended. A table that is missing stands for its parts. Parts of other programs do not count. */
export const driftOf = (expected: ReadonlyArray<Part>, found: ReadonlyArray<Part>): ReadonlyArray<Drift> => {
  const byKey = new Map(found.map((part) => [keyOf(part), part]))
  const gone = new Set(expected.filter((part) => part.kind === "table" && !byKey.has(keyOf(part))).map(({ table }) => table))
  return expected.flatMap((part): ReadonlyArray<Drift> => {
    const problem = problemOf(part, byKey.get(keyOf(part)))
    if (problem === null || (gone.has(part.table) && part.kind !== "table")) return []
    const { kind, name, table } = part
    const repairable = problem === "changed" ? kind !== "column" && kind !== "constraint" : !needsValue(part)
    return [{ kind, table, name, problem, repairable }]
  }).sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind))
}

const quoted = (name: string): string => `"${name.replaceAll("\"", "\"\"")}"`
const isForeign = ({ definition }: Part): boolean => definition.startsWith("FOREIGN KEY")

const created = ({ definition, kind, name, table }: Part): string => {
  switch (kind) {
    case "column":
      return `ALTER TABLE ${quoted(table)} ADD COLUMN ${quoted(name)} ${definition}`
    case "constraint":
      return `ALTER TABLE ${quoted(table)} ADD CONSTRAINT ${quoted(name)} ${definition}`
    case "table":
      return `CREATE TABLE ${quoted(table)} ()`
    case "function":
    case "index":
    case "trigger":
      return definition
  }
}

/** The statements that mend one difference, to be run together. */
export const repairOf = (expected: ReadonlyArray<Part>, { kind, name, problem, table }: Drift): ReadonlyArray<string> => {
  const part = expected.find((one) => keyOf(one) === keyOf({ kind, name, table }))
  if (part === undefined) return []
  if (problem === "invalid") return [`REINDEX INDEX ${quoted(name)}`]
  if (kind === "table") {
    const parts = expected.filter((one) => one.table === table).sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind) || Number(isForeign(a)) - Number(isForeign(b)))
    return parts.map(created)
  }
  if (problem === "missing" || kind === "function") return [created(part)]
  return [kind === "trigger" ? `DROP TRIGGER ${quoted(name)} ON ${quoted(table)}` : `DROP INDEX ${quoted(name)}`, created(part)]
}
