/** Task routing as the page reads it: its words, and the drafts of both settings. Pure. */
import type { Answer, Body } from "../../api/contract.ts"
import { linesOf } from "../../format/lines.ts"
import type { Difference } from "../../parts/edit/Changes.tsx"
import type { Line } from "../../parts/edit/Lines.tsx"

export type Routing = Answer<"GET /api/settings/task-routing">
export type Background = Answer<"GET /api/settings/background-degradation">
export type Detected = Extract<Answer<"POST /api/settings/task-routing">, { readonly taskType: unknown }>
export type Task = keyof Routing["taskModelMap"]

export const tasks: ReadonlyArray<{ readonly name: Task; readonly word: string }> = [
  { name: "coding", word: "Coding" }, { name: "creative", word: "Creative writing" }, { name: "analysis", word: "Analysis" }, { name: "vision", word: "Pictures" },
  { name: "summarization", word: "Summaries" }, { name: "background", word: "In the background" }, { name: "chat", word: "Chat" }
]
export const taskWord = (name: string): string => tasks.find((task) => task.name === name)?.word ?? name

export const whom = [{ value: "automatic", word: "auto and auto/<category>" }, { value: "all", word: "Single models, too" }] as const

const plain = ({ appliesTo, detectionEnabled, enabled, taskModelMap }: Routing) => ({ enabled, appliesTo, detectionEnabled, taskModelMap })
export type RoutingDraft = ReturnType<typeof plain>
export const routingDraftOf = plain

export const routingChangeOf = (draft: RoutingDraft, stored: Routing): Body<"PUT /api/settings/task-routing"> => {
  const map = Object.fromEntries(tasks.filter(({ name }) => draft.taskModelMap[name].trim() !== stored.taskModelMap[name]).map(({ name }) => [name, draft.taskModelMap[name].trim()]))
  return {
    ...(draft.enabled === stored.enabled ? {} : { enabled: draft.enabled }), ...(draft.appliesTo === stored.appliesTo ? {} : { appliesTo: draft.appliesTo }),
    ...(draft.detectionEnabled === stored.detectionEnabled ? {} : { detectionEnabled: draft.detectionEnabled }), ...(Object.keys(map).length === 0 ? {} : { taskModelMap: map })
  }
}

const shown = (value: unknown): string => typeof value === "boolean" ? value ? "on" : "off" : String(value)

export const routingDifferences = (change: Body<"PUT /api/settings/task-routing">, stored: Routing): ReadonlyArray<Difference> => {
  const { taskModelMap = {}, ...rest } = change
  return [
    ...Object.entries(rest).map(([what, after]) => ({ what, before: shown(stored[what as keyof typeof rest]), after: shown(after) })),
    ...Object.entries(taskModelMap).map(([name, after]) => ({ what: taskWord(name), before: stored.taskModelMap[name as Task], after: after ?? "" }))
  ]
}

export interface BackgroundDraft {
  readonly enabled: boolean
  /** From and to. */
  readonly map: ReadonlyArray<Line>
  /** One in a line. */
  readonly patterns: string
}

export const backgroundDraftOf = ({ degradationMap, detectionPatterns, enabled }: Background): BackgroundDraft => ({ enabled, map: Object.entries(degradationMap), patterns: detectionPatterns.join("\n") })

export const backgroundChangeOf = (draft: BackgroundDraft, stored: Background): Body<"PUT /api/settings/background-degradation"> => {
  const degradationMap = Object.fromEntries(draft.map.flatMap(([from = "", to = ""]) => from.trim() === "" ? [] : [[from.trim(), to.trim()]]))
  const detectionPatterns = linesOf(draft.patterns)
  return {
    ...(draft.enabled === stored.enabled ? {} : { enabled: draft.enabled }), ...(JSON.stringify(degradationMap) === JSON.stringify(stored.degradationMap) ? {} : { degradationMap }),
    ...(JSON.stringify(detectionPatterns) === JSON.stringify(stored.detectionPatterns) ? {} : { detectionPatterns })
  }
}

const listed = (value: unknown): string => typeof value === "object" && value !== null ? (Array.isArray(value) ? value.map(String) : Object.entries(value).map(([from, to]) => `${from} → ${String(to)}`)).join("; ") : shown(value)

export const backgroundDifferences = (change: Body<"PUT /api/settings/background-degradation">, stored: Background): ReadonlyArray<Difference> =>
  Object.entries(change).map(([what, after]) => ({ what, before: listed(stored[what as keyof typeof change]), after: listed(after) }))

/** The fields of a change, as they are stored. */
export const backOf = (change: object | undefined, stored: object): Readonly<Record<string, unknown>> => Object.fromEntries(Object.keys(change ?? {}).map((name) => [name, Reflect.get(stored, name)]))
