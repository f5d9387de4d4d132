/**
 * Which mode a request has, and why: what its client asks by header, then what its combo says, then the active pipeline, then the length
 * of the prompt, then the default. Nothing switches compression on while the operator has it off. Pure.
 */
import { type CompressionSettings, compressionOf, EngineId, type Mode, Mode as Modes } from "#schemas/words/Compression.ts"
import { type Pipeline, pipelinesOf } from "#schemas/words/CompressionPipeline.ts"
import { bytesPerToken } from "./compress.ts"
import * as Plan from "./plan.ts"

export type Source = "request-header" | "routing-override" | "active-profile" | "auto-trigger" | "default" | "off"

/** What was decided for a request. */
export interface Decision {
  /** Null = the prompt stays as it is. */
  readonly plan: Plan.Plan | null
  /** Value of X-Gateway-Compression. */
  readonly header: string
}

/** The settings, read once for all requests. */
export interface Rules {
  readonly settings: CompressionSettings
  readonly plans: ReadonlyMap<Mode, Plan.Plan | null>
  /** Of one engine, by its id; only of those that are on. */
  readonly engines: ReadonlyMap<string, Plan.Plan>
  /** Stored pipelines by their names in lower case, then by their ids. */
  readonly named: ReadonlyMap<string, Plan.Plan | null>
  /** By the combo that they are assigned to. */
  readonly assigned: ReadonlyMap<string, Plan.Plan | null>
  /** Of all requests of which nothing else says more; undefined = there is none. */
  readonly active: Plan.Plan | null | undefined
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

export const offHeader = "off; source=off"
const off: Decision = { plan: null, header: offHeader }

/** What these names say in the header is not a pipeline. */
const reserved: ReadonlySet<string> = new Set(["off", "default"])

const modeOf: Readonly<Record<EngineId, Mode>> = { lite: "lite", caveman: "standard", rtk: "rtk" }

/** Null while compression is off. */
export const rulesOf = (stored: ReadonlyMap<string, unknown>): Rules | null => {
  const settings = compressionOf(stored)
  if (!settings.enabled) return null
  const pipelines = pipelinesOf(stored, settings).map((pipeline) => ({ pipeline, plan: Plan.ofPipeline(pipeline, settings) }))
  const planOf = (found: (pipeline: Pipeline) => boolean): Plan.Plan | null | undefined => pipelines.find(({ pipeline }) => found(pipeline))?.plan
  const plans = new Map(Modes.literals.map((mode) => [mode, mode === "stacked" ? planOf(({ isDefault }) => isDefault) ?? null : Plan.ofMode(mode, settings)]))
  return {
    settings, plans,
    engines: new Map(EngineId.literals.flatMap((engine) => {
      const plan = plans.get(modeOf[engine]) ?? null
      return plan === null ? [] : [[`engine:${engine}`, plan]]
    })),
    named: new Map([
      ...pipelines.map(({ pipeline: { id }, plan }) => [id, plan] as const),
      ...pipelines.flatMap(({ pipeline: { name }, plan }) => reserved.has(name.toLowerCase()) ? [] : [[name.toLowerCase(), plan] as const])
    ]),
    assigned: new Map(pipelines.flatMap(({ pipeline, plan }) => pipeline.routingComboIds.map((id) => [id, plan] as const))),
    active: settings.compressionComboId === null ? undefined : planOf(({ id }) => id === settings.compressionComboId)
  }
}

const saidOf = (plan: Plan.Plan | null, source: Source): Decision => ({ plan, header: `${plan?.mode ?? "off"}; source=${source}` })

const decided = ({ plans }: Rules, mode: Mode, source: Source): Decision => saidOf(plans.get(mode) ?? null, source)

/** What the header says; null for a value that says nothing here. */
const byHeader = (rules: Rules, header: string): Decision | null => {
  const value = header.trim().toLowerCase()
  if (value === "off") return decided(rules, "off", "request-header")
  if (value === "default") return decided(rules, rules.settings.defaultMode, "request-header")
  const plan = rules.named.get(value) ?? rules.engines.get(value)
  return plan === undefined || plan === null ? null : saidOf(plan, "request-header")
}

/** What is said of the combo itself; null = nothing. */
const byCombo = (rules: Rules, comboId: string | null, comboMode: Mode | null): Decision | null => {
  if (comboId !== null) {
    const { comboOverrides } = rules.settings
    const override = Object.hasOwn(comboOverrides, comboId) ? comboOverrides[comboId] : undefined
    if (override !== undefined) return decided(rules, override, "routing-override")
    const plan = rules.assigned.get(comboId)
    if (plan !== undefined) return saidOf(plan, "routing-override")
  }
  return comboMode === null ? null : decided(rules, comboMode, "routing-override")
}

export const of = (rules: Rules, { allowed, bytes, comboId, comboMode, header }: Asked): Decision => {
  if (!allowed) return off
  const said = (header === undefined ? null : byHeader(rules, header)) ?? byCombo(rules, comboId, comboMode)
  if (said !== null) return said
  const { active, settings: { autoTriggerMode, autoTriggerTokens, defaultMode } } = rules
  if (active !== undefined) return saidOf(active, "active-profile")
  if (autoTriggerTokens > 0 && bytes >= autoTriggerTokens * bytesPerToken) return decided(rules, autoTriggerMode, "auto-trigger")
  return defaultMode === "off" ? off : decided(rules, defaultMode, "default")
}
