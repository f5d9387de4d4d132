/** Payload rules as the page reads them: their lists, the draft of one rule, and the list that a save would send. Pure. */
import type { Answer, Body } from "../../api/contract.ts"
import type { Line } from "../../parts/edit/Lines.tsx"

export type Stored = Answer<"GET /api/settings/payload-rules">
export type Kind = "default" | "defaultRaw" | "override" | "filter"
export type Rule = Stored[Kind][number]

/** In the order in which they act. */
export const kinds: ReadonlyArray<{ readonly name: Kind; readonly word: string; readonly does: string }> = [
  { name: "default", word: "Values where nothing stands", does: "The first rule that names a place decides it." },
  { name: "defaultRaw", word: "JSON texts where nothing stands", does: "They act behind those above; a text is JSON, and is written as it is." },
  { name: "override", word: "Values in any case", does: "The last rule that names a place decides it." },
  { name: "filter", word: "Values that are taken away", does: "They act last." }
]

export const protocols = [
  { value: "", word: "All formats" }, { value: "chat-completions", word: "Chat completions" }, { value: "responses", word: "Responses" }, { value: "messages", word: "Messages" },
  { value: "generateContent", word: "Generate content" }, { value: "local-model-server", word: "Local model server" }
]
const olderNames: Readonly<Record<string, string>> = { openai: "chat-completions", codex: "responses", claude: "messages", gemini: "generateContent" }
const protocolOf = (name: string | undefined): string => name === undefined ? "" : olderNames[name] ?? name

type Value = Exclude<Stored["default"][number]["params"], undefined>[string]

/** Undefined: it is no JSON. */
const jsonOf = (text: string): Value | undefined => {
  try {
    return JSON.parse(text) as Value
  } catch {
    return undefined
  }
}
/** A text that is no JSON stands for itself, in `defaultRaw` a JSON text as well. */
const textOf = (kind: Kind, value: Value): string => typeof value === "string" && (kind === "defaultRaw" || jsonOf(value) === undefined) ? value : JSON.stringify(value)
const valueOf = (kind: Kind, text: string): Value => kind === "defaultRaw" ? text : jsonOf(text) ?? text

export interface Draft {
  /** Name and format. */
  readonly models: ReadonlyArray<Line>
  /** Path, and value where the list has values. */
  readonly params: ReadonlyArray<Line>
}

/** `rule`: null for a new one. */
export const draftOf = (kind: Kind, rule: Rule | null): Draft => rule === null ? { models: [["", ""]], params: [["", ""]] } : {
  models: rule.models.map(({ name, protocol }) => [name, protocolOf(protocol)]),
  params: Array.isArray(rule.params) ? rule.params.map((path: string) => [path]) : Object.entries(rule.params as Readonly<Record<string, Value>>).map(([path, value]) => [path, textOf(kind, value)])
}

/** Lines without a name or a path are left out. */
export const ruleOf = (kind: Kind, { models, params }: Draft): Rule => {
  const paths = params.filter(([path = ""]) => path.trim() !== "")
  return {
    models: models.flatMap(([name = "", protocol = ""]) => name.trim() === "" ? [] : [{ name: name.trim(), ...(protocol === "" ? {} : { protocol }) }]),
    params: kind === "filter" ? paths.map(([path = ""]) => path.trim()) : Object.fromEntries(paths.map(([path = "", value = ""]) => [path.trim(), valueOf(kind, value)]))
  } as Rule
}

export const isWhole = (rule: Rule): boolean => rule.models.length > 0 && Object.keys(rule.params).length > 0

/** `reasoning.effort = high` or a path alone. */
export const paramWords = (kind: Kind, rule: Rule): ReadonlyArray<string> => draftOf(kind, rule).params.map(([path = "", value]) => value === undefined ? path : `${path} = ${value}`)
export const modelWords = (rule: Rule): ReadonlyArray<string> => rule.models.map(({ name, protocol }) => protocol === undefined ? name : `${name} (${protocolOf(protocol)})`)

export const bodyOf = (kind: Kind, list: ReadonlyArray<Rule>): Body<"PUT /api/settings/payload-rules"> => ({ [kind]: list })

/** The same list with a rule at another place; an equal one where the place is none. */
export const moved = (list: ReadonlyArray<Rule>, from: number, to: number): ReadonlyArray<Rule> => {
  const rule = list[from]
  if (rule === undefined || to < 0 || to >= list.length) return list
  const rest = list.filter((_, index) => index !== from)
  return [...rest.slice(0, to), rule, ...rest.slice(to)]
}
