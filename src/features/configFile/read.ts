/**
 * The text of a configuration file as what it declares: YAML 1.2 (https://yaml.org/spec/1.2.2), `${NAME}` and `${NAME:-else}` in
 * values taken from the environment, `$${` for a plain `${`, and every field checked. Pure.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { messageOf } from "#actors/thrown.ts"
import type { RecordKind } from "#schemas/FileOwned.ts"
import { File } from "./declared.ts"

type Json = Schema.Json
type Fields = Readonly<Record<string, Json>>

export interface Declared {
  readonly kind: RecordKind
  /** Its name in the file. */
  readonly name: string
  readonly fields: Fields
  /** Variable that its `apiKey` is taken from, when it is nothing else. */
  readonly keyVariable: string | null
}

export interface Issue {
  /** Dotted path in the file, or `line:column`. */
  readonly path: string
  readonly message: string
}

/** Sections in the order in which they are applied: what others refer to comes first. */
export const sections = { flags: "flag", nodes: "node", providers: "connection", combos: "combo", keys: "key", webhooks: "webhook" } as const satisfies Readonly<Record<keyof File, RecordKind>>

const sectionNames = Object.keys(sections) as ReadonlyArray<keyof File>

type Environment = Readonly<Record<string, string | undefined>>

const reference = /\$(\$?)\{([^}]*)\}/g
const inside = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s
const alone = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/

/** Names of the variables that a file's text takes, also where it cannot be read as a whole. */
export const variablesIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(reference)].flatMap(([, escaped, body = ""]) => escaped !== "" ? [] : inside.exec(body)?.[1] ?? []))

/** Texts with their variables; an empty variable counts as missing. */
const filled = (value: unknown, path: string, environment: Environment, issues: Array<Issue>): unknown => {
  if (typeof value === "string") {
    return value.replaceAll(reference, (whole, escaped: string, body: string) => {
      if (escaped !== "") return whole.slice(1)
      const parts = inside.exec(body)
      if (parts === null) {
        issues.push({ path, message: `\${${body}} names no variable; write $\${ for a plain \${` })
        return ""
      }
      const name = parts[1] as string
      const found = Object.hasOwn(environment, name) ? environment[name] : undefined
      if (found !== undefined && found !== "") return found
      if (parts[2] === undefined) issues.push({ path, message: `The variable ${name} is not set` })
      return parts[2] ?? ""
    })
  }
  if (Array.isArray(value)) return value.map((item, at) => filled(item, `${path}.${at}`, environment, issues))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, filled(member, path === "" ? name : `${path}.${name}`, environment, issues)]))
}

const decode = Schema.decodeUnknownResult(File, { errors: "all", onExcessProperty: "error" })
const format = SchemaIssue.makeFormatterStandardSchemaV1()
const messages: Readonly<Record<string, string>> = { "Expected no excess property": "Unknown field", "Missing key": "Required" }

const issuesOf = (error: Schema.SchemaError): ReadonlyArray<Issue> => {
  const byPath = new Map<string, string>()
  for (const { message, path } of format(error.issue).issues) {
    const at = (path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".")
    if (!byPath.has(at)) byPath.set(at, messages[message] ?? message)
  }
  return [...byPath].map(([path, message]) => ({ path: path === "" ? "the file" : path, message }))
}

const keyVariableOf = (raw: unknown, section: string, name: string): string | null => {
  const entry = (raw as Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, unknown>>>>>>)[section]?.[name]
  const apiKey = entry?.["apiKey"]
  return typeof apiKey === "string" ? alone.exec(apiKey)?.[1] ?? null : null
}

/** The combos that a combo refers to stand before it; a circle keeps its order, and is refused where combos are checked. */
const inOrder = (combos: ReadonlyArray<Declared>): ReadonlyArray<Declared> => {
  const byName = new Map(combos.map((combo) => [combo.name, combo]))
  const placed = new Set<Declared>()
  const place = (combo: Declared, above: ReadonlySet<Declared>): void => {
    if (placed.has(combo) || above.has(combo)) return
    const models = combo.fields["models"]
    for (const step of Array.isArray(models) ? models : []) {
      const named = typeof step === "object" && step !== null && !Array.isArray(step) ? (step as Fields)["comboName"] : undefined
      const other = typeof named === "string" ? byName.get(named) : undefined
      if (other !== undefined) place(other, new Set([...above, combo]))
    }
    placed.add(combo)
  }
  for (const combo of combos) place(combo, new Set())
  return [...placed]
}

/** The library is loaded where a file is read, which most gateways never do. */
const parse = async (text: string): Promise<unknown> => {
  const { parseDocument } = await import("yaml")
  const document = parseDocument(text, { prettyErrors: false })
  if (document.errors.length > 0) {
    return document.errors.map(({ code, message, pos }): Issue => {
      const before = text.slice(0, pos[0]).split("\n")
      // The library quotes what it did not expect, which may be a secret.
      return { path: `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`, message: code === "UNEXPECTED_TOKEN" ? "Unexpected text" : message }
    })
  }
  try {
    return { value: document.toJS({ maxAliasCount: 100 }) ?? {} }
  } catch (error) {
    // Aliases that multiply, or name no anchor.
    const fault: Issue = { path: "the file", message: messageOf(error) }
    return [fault]
  }
}

/** What the file declares, in the order in which it is applied; or everything that stands in the way. */
export const read = async (text: string, environment: Environment): Promise<Result.Result<ReadonlyArray<Declared>, ReadonlyArray<Issue>>> => {
  const parsed = await parse(text)
  if (Array.isArray(parsed)) return Result.fail(parsed as ReadonlyArray<Issue>)
  const raw = (parsed as { readonly value: unknown }).value
  const issues: Array<Issue> = []
  const decoded = decode(filled(raw, "", environment, issues))
  if (Result.isFailure(decoded)) {
    // What stands in the place of a missing variable is no fault of its own.
    const others = issuesOf(decoded.failure).filter(({ path }) => !issues.some((issue) => issue.path === path || issue.path.startsWith(`${path}.`)))
    return Result.fail([...issues, ...others])
  }
  if (issues.length > 0) return Result.fail(issues)
  const file = decoded.success
  return Result.succeed(sectionNames.flatMap((section) => {
    const declared = Object.entries(file[section] ?? {}).map(([name, entry]): Declared => ({
      kind: sections[section],
      name,
      fields: typeof entry === "object" ? entry as unknown as Fields : { value: String(entry) },
      keyVariable: section === "providers" ? keyVariableOf(raw, section, name) : null
    }))
    return section === "combos" ? inOrder(declared) : declared
  }))
}
