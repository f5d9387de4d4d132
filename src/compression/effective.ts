/**
 * Which mode a request has, and why: what its client asks by header, then what its combo says, then the length of the prompt, then the
 * default. Nothing switches compression on while the operator has it off. Pure.
 */
import { type CompressionSettings, compressionOf, EngineId, type Mode, Mode as Modes } from "#schemas/words/Compression.ts"
import * as Compress from "./compress.ts"

export type Source = "request-header" | "routing-override" | "auto-trigger" | "default" | "off"

/** What was decided for a request. */
export interface Decision {
  /** Null = the prompt stays as it is. */
  readonly plan: Compress.Plan | null
  /** Value of X-Gateway-Compression. */
  readonly header: string
}

/** The settings, read once for all requests. */
export interface Rules {
  readonly settings: CompressionSettings
  readonly plans: ReadonlyMap<Mode, Compress.Plan | null>
  /** Of one engine, by its id; only of those that are on. */
  readonly engines: ReadonlyMap<string, Compress.Plan>
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

/** Null while compression is off. */
export const rulesOf = (stored: ReadonlyMap<string, unknown>): Rules | null => {
  const settings = compressionOf(stored)
  if (!settings.enabled) return null
  const plans = new Map(Modes.literals.map((mode) => [mode, Compress.planOf(mode, settings)]))
  const modeOf: Readonly<Record<EngineId, Mode>> = { lite: "lite", caveman: "standard", rtk: "rtk" }
  return { settings, plans, engines: new Map(EngineId.literals.flatMap((engine) => {
    const plan = plans.get(modeOf[engine])
    return plan === undefined || plan === null ? [] : [[`engine:${engine}`, plan] as const]
  })) }
}

const decided = ({ plans }: Rules, mode: Mode, source: Source): Decision => {
  const plan = plans.get(mode) ?? null
  return { plan, header: `${plan?.mode ?? "off"}; source=${source}` }
}

/** What the header says; null for a value that says nothing here. */
const byHeader = (rules: Rules, header: string): Decision | null => {
  const value = header.trim().toLowerCase()
  if (value === "off") return decided(rules, "off", "request-header")
  if (value === "default") return decided(rules, rules.settings.defaultMode, "request-header")
  const plan = rules.engines.get(value)
  return plan === undefined ? null : { plan, header: `${plan.mode}; source=request-header` }
}

export const of = (rules: Rules, { allowed, bytes, comboId, comboMode, header }: Asked): Decision => {
  if (!allowed) return off
  const said = header === undefined ? null : byHeader(rules, header)
  if (said !== null) return said
  const { autoTriggerMode, autoTriggerTokens, comboOverrides, defaultMode } = rules.settings
  const mode = (comboId === null || !Object.hasOwn(comboOverrides, comboId) ? undefined : comboOverrides[comboId]) ?? comboMode
  if (mode !== null) return decided(rules, mode, "routing-override")
  if (autoTriggerTokens > 0 && bytes >= autoTriggerTokens * Compress.bytesPerToken) return decided(rules, autoTriggerMode, "auto-trigger")
  return defaultMode === "off" ? off : decided(rules, defaultMode, "default")
}
