/** Beginnings of a combo for usual wishes: a strategy, and one model of each connected provider. Pure. */
import type { Answer } from "../../api/contract.ts"
import { type Draft, stepOf } from "./draft.ts"

type Options = Answer<"GET /api/combos/builder/options">

export const templates = [
  { value: "", word: "An empty list", strategy: "priority", most: 0 },
  { value: "fallback", word: "Fallback: the next provider when one fails", strategy: "priority", most: 3 },
  { value: "cheap-first", word: "Cheap first: the lowest price that can answer", strategy: "cost-optimized", most: 5 },
  { value: "fast-first", word: "Fast first: what scores best now", strategy: "auto", most: 5 },
  { value: "spread", word: "Spread: in turn over all", strategy: "round-robin", most: 5 },
  { value: "panel", word: "Panel: several answer, one judges", strategy: "fusion", most: 3 }
] as const

const SIMULATOR = "sim/echo"

/** What a combo may begin with: of each provider with a connection its default model, or its first one for conversations. */
const modelsOf = ({ providers }: Options): ReadonlyArray<string> => providers.flatMap(({ connections, id, models }) => {
  if (connections.length === 0) return []
  const model = connections.find(({ defaultModel }) => defaultModel !== null && defaultModel !== "")?.defaultModel ?? models.find(({ type }) => type === "chat")?.id ?? models[0]?.id
  return model === undefined ? [] : [model.startsWith(`${id}/`) ? model : `${id}/${model}`]
})

/** The draft with a template's strategy and steps; its name stays when one is typed. Without a connected provider the simulator stands in. */
export const begun = (draft: Draft, chosen: string, options: Options | undefined): Draft => {
  const template = templates.find(({ value }) => value === chosen) ?? templates[0]
  const found = options === undefined ? [] : modelsOf(options).slice(0, template.most)
  const names = template.most === 0 ? [] : found.length === 0 ? [SIMULATOR] : found
  const isOwnName = draft.name !== "" && !templates.some(({ value }) => value === draft.name)
  return { ...draft, name: isOwnName ? draft.name : template.value, strategy: template.strategy, steps: names.length === 0 ? [stepOf(null)] : names.map((name) => stepOf(null, name)) }
}
