/**
 * What the vendor's own models accept, by the version in their id (`claude-opus-4-7`, `claude-3-7-sonnet-20250219`,
 * `anthropic.claude-sonnet-4-6-v1`). Models of compatible vendors have no version here and are sent what was asked.
 */
export interface Capabilities {
  /** The id names one of the vendor's own models; what is said below holds for those. */
  readonly known: boolean
  /** Takes `thinking: {type: "adaptive"}` (4.6 and later). */
  readonly adaptive: boolean
  /** Refuses `budget_tokens` and the sampling parameters (4.7 and later). */
  readonly adaptiveOnly: boolean
  /** Takes `output_config.effort` (Opus 4.5, 4.6 and later), up to this level. */
  readonly effort: "none" | "high" | "max" | "xhigh"
  /** Refuses temperature and top_p together (4.1 and later). */
  readonly oneSampler: boolean
  /** Takes system messages between the others (Opus 4.8 and later). */
  readonly systemMessages: boolean
  /** Most tokens of an answer; null where the id says nothing of it. A larger limit is refused by the vendor. */
  readonly outputLimit: number | null
  /** Clears older results of tools when it is asked to (4.0 and later). */
  readonly clears: boolean
}

/** Major * 100 + minor, 0 for no Claude or a name without a version. */
const versionOf = (model: string): number => {
  const at = model.toLowerCase().indexOf("claude-")
  if (at === -1) return 0
  const numbers: Array<number> = []
  for (const piece of model.slice(at + 7).split(/[-.@:]/)) {
    if (/^\d{1,2}$/.test(piece)) numbers.push(Number(piece))
    else if (numbers.length > 0) break
  }
  return numbers.length === 0 ? 0 : numbers[0]! * 100 + (numbers[1] ?? 0)
}

/** Only models that write less than current ones are listed. */
const outputLimitOf = (version: number, isOpus: boolean): number | null => {
  if (version === 0) return null
  if (version < 305) return 4_096
  if (version < 307) return 8_192
  return version >= 400 && version <= 401 && isOpus ? 32_000 : null
}

export const capabilitiesOf = (model: string): Capabilities => {
  const version = versionOf(model)
  const isOpus = model.toLowerCase().includes("opus")
  return {
    known: version > 0,
    adaptive: version >= 406,
    adaptiveOnly: version >= 407,
    effort: version >= 407 ? "xhigh" : version === 406 ? "max" : version === 405 && isOpus ? "high" : "none",
    oneSampler: version >= 401,
    systemMessages: version >= 408 && isOpus,
    outputLimit: outputLimitOf(version, isOpus),
    clears: version >= 400
  }
}
