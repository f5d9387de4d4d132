/** What the settings say of tasks, made once per configuration, and what they mean for one model id. Pure. */
import { settingDefaults } from "#schemas/settingDefaults.ts"
import type { BackgroundDegradationSettings, Task, TaskRoutingSettings } from "#schemas/words/TaskRouting.ts"
import { backgroundDegradationOf, taskRoutingOf, tasks } from "#schemas/words/TaskRouting.ts"
import { channelOf } from "#src/routing/auto/channel.ts"
import { compileGlob } from "#src/routing/models/glob.ts"
import { Generations } from "#src/routing/models/Generations.ts"
import type { ModelCategory } from "#src/routing/models/candidate.ts"
import * as Detect from "#src/routing/tasks/detect.ts"

/** What may become of a request for a model id. */
export interface Concern {
  /** Its model in the background; null = it stays. */
  readonly degraded: string | null
  /** How its task is found: by the request, by the id itself, or not at all. */
  readonly task: "detect" | Task | null
  /** Automatic routing may be asked for what the request is about. */
  readonly intent: boolean
  /** The id is one of automatic routing; else it must be shown to be no combo. */
  readonly automatic: boolean
}

export interface Rules {
  readonly detector: Detect.Detector
  readonly taskRouting: TaskRoutingSettings
  readonly background: BackgroundDegradationSettings
  /** Null for a model id that nothing is done about. */
  readonly concernOf: (model: string) => Concern | null
}

/** Model ids whose concerns are remembered. */
const REMEMBERED = 1_000

/** Ids of automatic routing that name what is asked for; all others say how a model is chosen, and stay. */
const byCategory: Readonly<Record<ModelCategory, Task>> = { coding: "coding", reasoning: "analysis", vision: "vision", multimodal: "vision", chat: "chat" }

const textsIn = (stored: ReadonlyMap<string, unknown>, name: string): ReadonlyArray<string> => {
  const value = stored.get(name)
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : []
}

/** What the stored settings make of texts, whether anything is switched on or not. */
export const detectorOf = (stored: ReadonlyMap<string, unknown>): Detect.Detector => {
  const most = stored.get("intentSimpleMaxWords") ?? settingDefaults["intentSimpleMaxWords"]
  return Detect.make({
    codeWords: textsIn(stored, "intentExtraCodeKeywords"),
    reasoningWords: textsIn(stored, "intentExtraReasoningKeywords"),
    simpleWords: textsIn(stored, "intentExtraSimpleKeywords"),
    simpleMaxWords: typeof most === "number" ? most : 0,
    backgroundPhrases: backgroundDegradationOf(stored).detectionPatterns
  })
}

/** Null while nothing is switched on. */
export const of = (stored: ReadonlyMap<string, unknown>): Rules | null => {
  const taskRouting = taskRoutingOf(stored)
  const background = backgroundDegradationOf(stored)
  const routes = taskRouting.enabled && tasks.some((task) => taskRouting.taskModelMap[task] !== "")
  const mapped = background.enabled ? Object.entries(background.degradationMap) : []
  const intents = stored.get("intentDetectionEnabled") === true
  if (!routes && mapped.length === 0 && !intents) return null

  const exact = new Map(mapped)
  const patterns = mapped.filter(([from]) => /[*?]/.test(from)).map(([from, to]) => [compileGlob(from), to] as const)
  const isOn = stored.get("autoRoutingEnabled") !== false
  const degradedOf = (model: string): string | null => {
    const to = exact.get(model) ?? patterns.find(([matches]) => matches(model))?.[1] ?? null
    return to === model ? null : to
  }
  const taskOf = (model: string): Concern["task"] => {
    if (!routes) return null
    const channel = isOn ? channelOf(model) : null
    if (channel === null) return taskRouting.appliesTo === "all" && model !== "auto" && !model.startsWith("auto/") ? "detect" : null
    if (model === "auto") return "detect"
    return channel.category === null || channel.tier !== null ? null : byCategory[channel.category]
  }
  const made = (model: string): Concern | null => {
    const degraded = degradedOf(model)
    const task = taskOf(model)
    const intent = intents && isOn && model === "auto"
    return degraded === null && task === null && !intent ? null : { degraded, task, intent, automatic: isOn && channelOf(model) !== null }
  }
  const concerns = new Generations<{ readonly concern: Concern | null }>(REMEMBERED)
  return {
    detector: detectorOf(stored), taskRouting, background,
    concernOf: (model) => {
      let known = concerns.get(model)
      if (known === undefined) concerns.set(model, known = { concern: made(model) })
      return known.concern
    }
  }
}
