/** The settings `taskRouting` and `backgroundDegradation`: which models serve which kinds of tasks. */
import * as Schema from "effect/Schema"
import { listOf, text } from "#schemas/api/fields.ts"

export const tasks = ["coding", "creative", "analysis", "vision", "summarization", "background", "chat"] as const
export type Task = typeof tasks[number]

/** A model id, an alias or a combo, as clients may ask for; empty = none. */
const Model = text(0, 200)

export const TaskModelMap = Schema.Struct({
  coding: Model, creative: Model, analysis: Model, vision: Model, summarization: Model, background: Model, chat: Model
})

export const TaskRoutingSettings = Schema.Struct({
  enabled: Schema.Boolean,
  /** automatic: requests for `auto` and `auto/<category>`; all: those for single models, too. */
  appliesTo: Schema.Literals(["automatic", "all"]),
  /** The model of each task; empty = the model that was asked for. */
  taskModelMap: TaskModelMap,
  /** False: a task counts only where the client names it. */
  detectionEnabled: Schema.Boolean
})
export interface TaskRoutingSettings extends Schema.Schema.Type<typeof TaskRoutingSettings> {}

/** Entries of `degradationMap` and of `detectionPatterns`. */
const MAPPED = 200
const PATTERNS = 100

export const BackgroundDegradationSettings = Schema.Struct({
  enabled: Schema.Boolean,
  /** What background requests for a model (an id, or a pattern with `*` and `?`) are sent to. */
  degradationMap: Schema.Record(text(1, 200), text(1, 200)).check(Schema.isMaxProperties(MAPPED)),
  /** Phrases beside the known ones by which such a request is found, without regard to case. */
  detectionPatterns: listOf(text(3, 200), PATTERNS)
})
export interface BackgroundDegradationSettings extends Schema.Schema.Type<typeof BackgroundDegradationSettings> {}

/** Under these names among the settings. */
export const taskRoutingKey = "taskRouting"
export const backgroundDegradationKey = "backgroundDegradation"

export const taskRoutingDefaults: TaskRoutingSettings = {
  enabled: false, appliesTo: "automatic", detectionEnabled: true,
  taskModelMap: { coding: "", creative: "", analysis: "", vision: "", summarization: "", background: "", chat: "" }
}
const backgroundDegradationDefaults: BackgroundDegradationSettings = { enabled: false, degradationMap: {}, detectionPatterns: [] }

const read = <A extends object>(key: string, isWhole: (value: unknown) => value is A, defaults: A) => (settings: ReadonlyMap<string, unknown>): A => {
  const stored = settings.get(key)
  const whole: unknown = typeof stored === "object" && stored !== null ? { ...defaults, ...stored } : defaults
  return isWhole(whole) ? whole : defaults
}

/** The effective settings; defaults for what is no longer allowed. */
export const taskRoutingOf = read(taskRoutingKey, Schema.is(TaskRoutingSettings), taskRoutingDefaults)
export const backgroundDegradationOf = read(backgroundDegradationKey, Schema.is(BackgroundDegradationSettings), backgroundDegradationDefaults)
