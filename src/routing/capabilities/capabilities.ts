/**
 * Targets whose model is known to lack what a request cannot do without (flag CAPABILITY_FILTER_ENABLED): they are passed over, and a request
 * that none of its targets can serve is refused before anything is spent. A model of which nothing is known is asked. Pure.
 */
import type { Target } from "#actors/request/ports/Target.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import type { CustomModel } from "#schemas/records/CustomModel.ts"
import { type CallFormat, isOneShot } from "#schemas/wire/formats.ts"
import type { Registry } from "#src/providers/Registry.ts"
import type { Capability, Lacking, Moment } from "#src/routing/models/candidate.ts"
import { type AskedPrompt, type Asking, DemandingMoment, type MomentSources, RequestMoment } from "#src/routing/RequestMoment.ts"
import { wantedOf } from "#src/routing/auto/combo.ts"
import * as Selection from "#src/routing/selection.ts"
import * as Unavailable from "#src/routing/unavailable.ts"
import type { Demands } from "#src/routing/capabilities/demands.ts"

export type { AskedPrompt }

/** What is known of a model: true = it has it, false = it lacks it; absent = unknown. */
type Facts = Readonly<Partial<Record<Capability, boolean>>>

/** The facts of the registry, and those of the operator before them (`supportsVision` of a model of their own). */
export const factsFrom = (registry: Registry, customModels: ReadonlyArray<CustomModel>) => {
  const seeing = new Map<string, boolean>()
  for (const { modelId, provider, supportsVision } of customModels) if (supportsVision !== null) seeing.set(`${provider}/${modelId}`, supportsVision)
  /** Vendors that say of their models whether they keep to a schema; of others the silence means nothing. */
  const saySchemas = new Set([...registry.byId].filter(([, { models }]) => models.some(({ capabilities }) => capabilities?.includes("structuredOutput") === true)).map(([id]) => id))
  return ({ provider, publicModel }: Target): Facts => {
    const asked = publicModel.slice(publicModel.indexOf("/") + 1)
    const model = registry.modelsOf.get(provider)?.get(asked)
    const { capabilities, inputModalities } = model ?? {}
    const own = seeing.get(`${provider}/${asked}`) ?? seeing.get(`${provider}/${model?.id}`)
    return {
      ...(capabilities === undefined ? {} : { vision: capabilities.includes("vision"), tools: capabilities.includes("tools") }),
      ...(capabilities === undefined || !saySchemas.has(provider) ? {} : { structured_output: capabilities.includes("structuredOutput") }),
      ...(inputModalities === undefined ? {} : { audio: inputModalities.includes("audio") }),
      ...(own === undefined ? {} : { vision: own })
    }
  }
}

const needsOf = ({ audio, structuredOutput, tools, vision }: Demands): ReadonlyArray<Capability> => [
  ...(vision ? ["vision" as const] : []), ...(tools ? ["tools" as const] : []), ...(structuredOutput ? ["structured_output" as const] : []), ...(audio ? ["audio" as const] : [])
]

/** What a request of a combo demands of its targets: later stages of a pipeline read an answer, and a combo may take tools away. */
const demandedIn = (combo: Combo | null, demands: Demands): Demands | null =>
  combo === null ? demands : combo.strategy === "pipeline" ? null : combo.tool_filter_regex === null ? demands : { ...demands, tools: false }

/** A question, as far as a moment tells of it. */
interface Asked extends Asking {
  readonly face: CallFormat
}

/** What is asked of one request; null = nothing is checked. Facts are remembered with the plan. */
export const checks = (registry: Registry, customModels: ReadonlyArray<CustomModel>) => {
  const factsOf = factsFrom(registry, customModels)
  const known = new WeakMap<Target, Facts>()
  const factsAt = (target: Target): Facts => {
    let facts = known.get(target)
    if (facts === undefined) known.set(target, facts = factsOf(target))
    return facts
  }
  return ({ face, prompt }: Asked, combo: Combo | null): NonNullable<Moment["lacks"]> | null => {
    if (isOneShot(face)) return null
    const demanded = demandedIn(combo, prompt.demands())
    const needs = demanded === null ? [] : needsOf(demanded)
    if (needs.length === 0) return null
    return (target): Lacking | null => {
      const facts = factsAt(target)
      const missing = needs.filter((need) => facts[need] === false)
      return missing.length === 0 ? null : { reason: "capability-missing", until: null, missing, detail: `The model has no ${missing.join(", no ")}.` }
    }
  }
}

/** The moments of questions; `capable`: null while capabilities are not checked. `combo`: null for a single model. */
export const moments = (sources: MomentSources, capable: ReturnType<typeof checks> | null) =>
(question: Asked, session: string | null, length: Moment["length"], combo: Combo | null): RequestMoment & Pick<Moment, "lacks"> => {
  const wanted = combo === null ? null : wantedOf(combo)
  return capable === null ? new RequestMoment(sources, question, session, length, wanted) : new DemandingMoment(capable(question, combo), sources, question, session, length, wanted)
}

/** The refusal of a single model, all of whose targets lack something; null when one may serve. */
export const refusalOf = (targets: ReadonlyArray<Target>, { lacks = null }: Pick<Moment, "lacks">): Unavailable.Blocked | null => {
  if (lacks === null) return null
  const skipped = Selection.candidatesOf(targets).flatMap((candidate) => {
    const unavailable = lacks(candidate.target)
    return unavailable === null ? [] : [{ candidate, unavailable }]
  })
  return skipped.length < targets.length ? null : Unavailable.incapable({ combo: null, refused: [], skipped })
}
