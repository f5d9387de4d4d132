/**
 * What names a provider node by its prefix, and how it reads after the prefix changed. Pure.
 *
 * Records are walked by paths, so that a text which only looks like a model id stays. A pattern is renamed where the prefix stands in it
 * whole: `cellar/*` is, `cel*` is not. Names that clients chose, of aliases and combos, stay.
 */
import * as Predicate from "effect/Predicate"
import type { ApiKeyPolicy } from "#schemas/records/ApiKey.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import { groupPrefix } from "#src/routing/models/bareCombos.ts"
import { noThinkingLength } from "#src/routing/models/resolveModel.ts"

export interface Renaming {
  readonly from: string
  readonly to: string
}

/** Characters in front of `<provider>/<model>`: a variant without thinking, a group of connections. */
const headLength = (id: string): number => {
  const start = noThinkingLength(id)
  if (!id.startsWith(groupPrefix, start)) return start
  const group = id.indexOf("/", start + groupPrefix.length)
  return group < 0 ? start : group + 1
}

/** A model id. */
export const model = ({ from, to }: Renaming, id: string): string => {
  const start = headLength(id)
  return id.startsWith(`${from}/`, start) ? id.slice(0, start) + to + id.slice(start + from.length) : id
}

/** A glob of model ids, which has no regard to case. */
export const pattern = ({ from, to }: Renaming, glob: string): string => {
  const start = headLength(glob)
  return glob.slice(start, start + from.length + 1).toLowerCase() === `${from.toLowerCase()}/` ? glob.slice(0, start) + to + glob.slice(start + from.length) : glob
}

export const provider = ({ from, to }: Renaming, name: string): string => name === from ? to : name

/** Either: a list takes both. */
const either = (renaming: Renaming, name: string): string => provider(renaming, model(renaming, name))

const kinds = { model, pattern, provider, either }

/** `*`: each member of an array or object; `#`: the names of an object's members. */
type Path = readonly [kind: keyof typeof kinds, ...steps: ReadonlyArray<string>]

const at = (value: unknown, [step, ...rest]: ReadonlyArray<string>, change: (name: string) => string): unknown => {
  if (step === undefined) return typeof value === "string" ? change(value) : value
  if (step === "#") {
    if (!Predicate.isReadonlyObject(value)) return value
    const entries = Object.entries(value).map(([name, member]) => [change(name), member] as const)
    return entries.every(([name]) => Object.hasOwn(value, name)) ? value : Object.fromEntries(entries)
  }
  if (Array.isArray(value)) {
    if (step !== "*") return value
    const members = value.map((member: unknown) => at(member, rest, change))
    return members.every((member, index) => member === value[index]) ? value : members
  }
  if (!Predicate.isReadonlyObject(value)) return value
  const names = step === "*" ? Object.keys(value) : Object.hasOwn(value, step) ? [step] : []
  const members = names.map((name) => [name, at(value[name], rest, change)] as const)
  return members.every(([name, member]) => value[name] === member) ? value : { ...value, ...Object.fromEntries(members) }
}

/** The same value where it names the prefix nowhere. */
const along = <A>(paths: ReadonlyArray<Path>, renaming: Renaming, value: A): A =>
  paths.reduce<unknown>((found, [kind, ...steps]) => at(found, steps, (name) => kinds[kind](renaming, name)), value) as A

const configPaths: ReadonlyArray<Path> = [
  ["model", "judgeModel"], ["model", "handoffModel"], ["either", "candidatePool", "*"], ["model", "shadowRouting", "targets", "*"]
]
const below = (step: string, paths: ReadonlyArray<Path>): ReadonlyArray<Path> => paths.map(([kind, ...steps]) => [kind, step, ...steps])

export const combo = (renaming: Renaming, value: Combo): Combo => along([
  ["model", "models", "*", "model"], ["provider", "models", "*", "provider"], ["provider", "allowedProviders", "*"], ...below("config", configPaths)
], renaming, value)

export const policy = (renaming: Renaming, value: ApiKeyPolicy): ApiKeyPolicy =>
  along([["pattern", "allowedModels", "*"], ["pattern", "blockedModels", "*"]], renaming, value)

/** By kind of document: one that is a setting is named by its key. */
const documentPaths = new Map<string, ReadonlyArray<Path>>([
  ["alias", [["model"]]],
  ["eval-suite", [["model", "cases", "*", "model"]]],
  ["agent-skill", [["model", "model"]]],
  ["setting/comboDefaults", configPaths],
  ["setting/providerOverrides", [["provider", "#"]]],
  ["setting/blockedProviders", [["provider", "*"]]],
  ["setting/wildcardAliases", [["pattern", "*", "pattern"], ["model", "*", "target"]]],
  ["setting/taskRouting", [["model", "taskModelMap", "*"]]],
  ["setting/backgroundDegradation", [["model", "degradationMap", "*"], ["pattern", "degradationMap", "#"]]],
  ["setting/payloadRules", [["pattern", "*", "*", "models", "*", "name"]]],
  ["setting/memory", [["model", "embeddingSource"], ["model", "rerankModel"]]],
  ["setting/customAgents", [["provider", "*", "providerAlias"]]]
])

/** Kinds of documents that may name models. */
export const documentKinds: ReadonlyArray<string> = ["alias", "eval-suite", "agent-skill", "setting"]

export const document = (renaming: Renaming, kind: string, key: string, value: unknown): unknown => {
  const paths = documentPaths.get(kind === "setting" ? `setting/${key}` : kind)
  return paths === undefined ? value : along(paths, renaming, value)
}
