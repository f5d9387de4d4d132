/**
 * What the rules of operators change in the bodies of a target: the settings `systemTransforms` and `payloadRules`, and the parameter
 * filters of its connection.
 * Made once per configuration snapshot, and asked once per planned target; the target holds the answer. Pure.
 */
import type { PayloadEdit } from "#actors/request/ports/Target.ts"
import * as BodyPath from "#schemas/words/bodyPath.ts"
import { type ParamFilters, paramFiltersOf } from "#schemas/words/ParamFilters.ts"
import { familyOfProtocol, type PayloadRules, payloadRulesOf } from "#schemas/words/PayloadRules.ts"
import { type SystemTransform, systemTransformsOf } from "#schemas/instructions/SystemTransforms.ts"
import { compileGlob } from "#src/routing/models/glob.ts"

export interface PayloadAsked {
  /** Names of its provider: id, alias or prefix. */
  readonly names: ReadonlyArray<string>
  /** Id at the upstream. */
  readonly model: string
  /** `<provider>/<model>`, as lists and answers say it. */
  readonly publicModel: string
  readonly family: string
  /** Null for a provider without credentials. */
  readonly connectionId: string | null
}

export interface Payload {
  /** In the order in which they are made; null = none. */
  readonly edits: ReadonlyArray<PayloadEdit> | null
  /** Parameters that the upstream refuses by name are learned, but these; null = none are. */
  readonly learns: ReadonlyArray<string> | null
  /** Of its instructions, one after the other; null = none. */
  readonly transforms: ReadonlyArray<SystemTransform> | null
}

type Filtered = Omit<Payload, "transforms">

interface Rule {
  readonly fits: (asked: PayloadAsked) => boolean
  readonly edits: ReadonlyArray<PayloadEdit>
}

const none: Filtered = { edits: null, learns: null }

/** Under this name stands what holds for every provider. */
const everyProvider = "*"

const fitting = (models: PayloadRules["default"][number]["models"]): Rule["fits"] => {
  const tests = models.map(({ name, protocol }) => ({ fits: compileGlob(name), family: protocol === undefined ? null : familyOfProtocol[protocol] }))
  return ({ family, model, publicModel }) => tests.some((test) => (test.family === null || test.family === family) && (test.fits(model) || test.fits(publicModel)))
}

const put = (kind: "default" | "override", written: (value: unknown) => string) => ({ models, params }: PayloadRules["default"][number]): Rule => ({
  fits: fitting(models),
  edits: Object.entries(params).flatMap(([at, value]): ReadonlyArray<PayloadEdit> => {
    const path = BodyPath.parse(at)
    return path === null ? [] : [{ kind, path, text: written(value) }]
  })
})

const removals = (paths: ReadonlyArray<string>): ReadonlyArray<PayloadEdit> => paths.flatMap((one): ReadonlyArray<PayloadEdit> => {
  const path = BodyPath.parseRemoved(one)
  return path === null ? [] : [{ kind: "filter", path }]
})

const json = (value: unknown): string => JSON.stringify(value)
const raw = (value: unknown): string => typeof value === "string" ? value : json(value)

/** What is put where nothing stands comes first, what goes comes last. */
const rulesOf = (rules: PayloadRules): ReadonlyArray<Rule> => [
  ...rules.default.map(put("default", json)), ...rules.defaultRaw.map(put("default", raw)), ...rules.override.map(put("override", json)),
  ...rules.filter.map(({ models, params }): Rule => ({ fits: fitting(models), edits: removals(params) }))
]

/** What a connection's filters take out of a model's bodies: `allow` stands over every `block`. */
const filteredFor = ({ allow, autoLearn, block, models }: ParamFilters, model: string): Filtered => {
  const own = Object.hasOwn(models, model) ? models[model] : undefined
  const allowed = [...allow, ...own?.allow ?? []]
  return { edits: removals([...new Set([...block, ...own?.block ?? []])].filter((path) => !allowed.includes(path))), learns: autoLearn ? allowed : null }
}

/** Asked for each conversation that is planned. */
export type PayloadPlans = (asked: PayloadAsked) => Payload

/** `filters`: the documents of connections, by their ids. Null when nothing is configured. */
export const make = (settings: ReadonlyMap<string, unknown>, filters: ReadonlyMap<string, unknown>): PayloadPlans | null => {
  const rules = rulesOf(payloadRulesOf(settings))
  const transforms = systemTransformsOf(settings)
  if (rules.length === 0 && filters.size === 0 && transforms.size === 0) return null
  const byConnection = new Map([...filters].map(([id, stored]) => [id, paramFiltersOf(stored)]))
  return (asked) => {
    const own = asked.connectionId === null ? undefined : byConnection.get(asked.connectionId)
    const { edits: filtered, learns } = own === undefined ? none : filteredFor(own, asked.model)
    const edits = [...rules.flatMap((rule) => rule.fits(asked) ? rule.edits : []), ...filtered ?? []]
    const transformed = [everyProvider, ...new Set(asked.names)].flatMap((name) => transforms.get(name) ?? [])
    return { edits: edits.length === 0 ? null : edits, learns, transforms: transformed.length === 0 ? null : transformed }
  }
}
