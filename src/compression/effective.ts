/**
 * Which mode a request has, and why: what its client asks by header, then what its combo says, then the active pipeline, then the length
 * of the prompt, then the default. Nothing switches compression on while the operator has it off. Pure.
 */
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import { type CompressionSettings, compressionOf, EngineId, type Mode, Mode as Modes } from "#schemas/words/Compression.ts"
import { type Pipeline, pipelinesOf } from "#schemas/words/CompressionPipeline.ts"
import { bytesPerToken } from "./compress.ts"
import * as Plan from "./plan.ts"
import * as Terse from "./terse.ts"

export type Source = "request-header" | "routing-override" | "active-profile" | "auto-trigger" | "default" | "fallback" | "off"

/** What is done with a request. */
interface Choice {
  /** Null = the prompt stays as it is. */
  readonly plan: Plan.Plan | null
  /** What asks the model for a short answer; null = nothing. */
  readonly terse: string | null
  /** The vendor is asked to clear older results of tools. */
  readonly clears: boolean
}

/** What was decided for a request. */
export interface Decision extends Choice {
  /** Value of X-Gateway-Compression. */
  readonly header: string
}

/** The settings, read once for all requests. */
export interface Rules {
  readonly settings: CompressionSettings
  readonly modes: ReadonlyMap<Mode, Choice>
  /** What asks for short answers, where no pipeline says more. */
  readonly usual: string | null
  /** The setting contextEditing. */
  readonly clears: boolean
  /** Of one engine, by its id; only of those that are on. */
  readonly engines: ReadonlyMap<string, Choice>
  /** Stored pipelines by their names in lower case, then by their ids. */
  readonly named: ReadonlyMap<string, Choice>
  /** By the combo that they are assigned to. */
  readonly assigned: ReadonlyMap<string, Choice>
  /** Of all requests of which nothing else says more; undefined = there is none. */
  readonly active: Choice | undefined
}

export interface Asked {
  /** X-Gateway-Compression of the request. */
  readonly header: string | undefined
  /** The key's compressionEnabled. */
  readonly allowed: boolean
  readonly comboId: string | null
  /** config.compressionMode of the combo, with its defaults. */
  readonly comboMode: Mode | null
  /** Bytes of the body. */
  readonly bytes: number
}

/** What decides about a request. */
export const askedBy = (
  client: { readonly header: (lowerCaseName: string) => string | undefined }, key: Pick<ApiKey, "policy"> | null, bytes: number, comboId: string | null, comboMode: Mode | null
): Asked => ({ header: client.header("x-gateway-compression"), allowed: key === null || key.policy.compressionEnabled, comboId, comboMode, bytes })

const offHeader = "off; source=off"
const nothing: Choice = { plan: null, terse: null, clears: false }
const off: Decision = { ...nothing, header: offHeader }

/** What these names say in the header is not a pipeline. */
const reserved: ReadonlySet<string> = new Set(["off", "default"])

/** Null while compression is off. */
export const rulesOf = (stored: ReadonlyMap<string, unknown>): Rules | null => {
  const settings = compressionOf(stored)
  if (!settings.enabled) return null
  const { cavemanOutputMode: output, compressionComboId, contextEditing: { enabled: clears } } = settings
  const usual = output.enabled ? Terse.wordsOf(output.intensity, output) : null
  const pipelines = pipelinesOf(stored, settings).map((pipeline) => ({
    pipeline, choice: { plan: Plan.ofPipeline(pipeline, settings), terse: pipeline.outputMode ? Terse.wordsOf(pipeline.outputModeIntensity, output) : usual, clears }
  }))
  const choiceOf = (found: (pipeline: Pipeline) => boolean): Choice | undefined => pipelines.find(({ pipeline }) => found(pipeline))?.choice
  const modes = new Map<Mode, Choice>(Modes.literals.map((mode) =>
    [mode, (mode === "stacked" ? choiceOf(({ isDefault }) => isDefault) : undefined) ?? { plan: Plan.ofMode(mode, settings), terse: mode === "off" ? null : usual, clears: clears && mode !== "off" }]))
  return {
    settings, modes, usual, clears,
    engines: new Map(EngineId.literals.flatMap((engine) => {
      const plan = Plan.ofEngine(engine, settings)
      return plan === null ? [] : [[`engine:${engine.toLowerCase()}`, { plan, terse: usual, clears }]]
    })),
    named: new Map([
      ...pipelines.map(({ choice, pipeline: { id } }) => [id, choice] as const),
      ...pipelines.flatMap(({ choice, pipeline: { name } }) => reserved.has(name.toLowerCase()) ? [] : [[name.toLowerCase(), choice] as const])
    ]),
    assigned: new Map(pipelines.flatMap(({ choice, pipeline }) => pipeline.routingComboIds.map((id) => [id, choice] as const))),
    active: compressionComboId === null ? undefined : choiceOf(({ id }) => id === compressionComboId)
  }
}

const saidOf = ({ clears, plan, terse }: Choice, source: Source): Decision => ({ plan, terse, clears, header: `${plan?.mode ?? "off"}; source=${source}` })

const decided = ({ modes }: Rules, mode: Mode, source: Source): Decision => saidOf(modes.get(mode) ?? nothing, source)

/** What the header says; null for a value that says nothing here. */
const byHeader = (rules: Rules, header: string): Decision | null => {
  const value = header.trim().toLowerCase()
  if (value === "off") return decided(rules, "off", "request-header")
  if (value === "default") return decided(rules, rules.settings.defaultMode, "request-header")
  const choice = rules.named.get(value) ?? rules.engines.get(value)
  return choice === undefined || choice.plan === null ? null : saidOf(choice, "request-header")
}

/** What is said of the combo itself; null = nothing. */
const byCombo = (rules: Rules, comboId: string | null, comboMode: Mode | null): Decision | null => {
  if (comboId !== null) {
    const { comboOverrides } = rules.settings
    const override = Object.hasOwn(comboOverrides, comboId) ? comboOverrides[comboId] : undefined
    if (override !== undefined) return decided(rules, override, "routing-override")
    const choice = rules.assigned.get(comboId)
    if (choice !== undefined) return saidOf(choice, "routing-override")
  }
  return comboMode === null ? null : decided(rules, comboMode, "routing-override")
}

/** What a combo says of its further targets. */
export interface FallbackConfig {
  readonly zeroLatencyOptimizationsEnabled: boolean
  readonly fallbackCompressionMode: Mode
  /** Estimated tokens; a shorter prompt stays. */
  readonly fallbackCompressionThreshold: number
}

/** What is done before another target of the combo is asked than the first; null = nothing. A client's header, and what is done from the beginning, stand before it. */
export const ofFallback = (rules: Rules, { allowed, bytes, header }: Asked, first: Decision, config: FallbackConfig | null): Decision | null => {
  if (config === null || !config.zeroLatencyOptimizationsEnabled || !allowed || first.plan !== null || bytes < config.fallbackCompressionThreshold * bytesPerToken) return null
  if (header !== undefined && byHeader(rules, header) !== null) return null
  const said = decided(rules, config.fallbackCompressionMode, "fallback")
  return said.plan === null ? null : { ...said, terse: first.terse, clears: first.clears }
}

export const of = (rules: Rules, { allowed, bytes, comboId, comboMode, header }: Asked): Decision => {
  if (!allowed) return off
  const said = (header === undefined ? null : byHeader(rules, header)) ?? byCombo(rules, comboId, comboMode)
  if (said !== null) return said
  const { active, settings: { autoTriggerMode, autoTriggerTokens, defaultMode } } = rules
  if (active !== undefined) return saidOf(active, "active-profile")
  if (autoTriggerTokens > 0 && bytes >= autoTriggerTokens * bytesPerToken) return decided(rules, autoTriggerMode, "auto-trigger")
  if (defaultMode !== "off") return decided(rules, defaultMode, "default")
  return rules.usual === null && !rules.clears ? off : { ...off, terse: rules.usual, clears: rules.clears }
}
