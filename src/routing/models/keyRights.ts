/** What the keys of one configuration may be served by: the rights of each, made once, and what is left of a plan. Pure. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Registry } from "#src/providers/Registry.ts"
import { preferredFirst } from "#src/routing/combos/targets.ts"
import type { Skipped } from "#src/routing/models/candidate.ts"
import type { ResolvedCombo } from "#src/routing/combos/resolve.ts"
import type { Resolution, ResolvedModel } from "#src/routing/models/resolveModel.ts"
import type { Plan } from "#src/routing/plan.ts"
import * as Rights from "#src/routing/Rights.ts"
import * as Selection from "#src/routing/selection.ts"
import * as Unavailable from "#src/routing/unavailable.ts"

export type { RequestedAs } from "#src/routing/Rights.ts"

/** The targets of a model that a key may use. */
export interface Permitted {
  readonly targets: ReadonlyArray<Target>
  readonly forbidden: () => ReadonlyArray<Skipped>
}

/** What is asked; `granted`: an operator's combo names the model. */
interface Asked {
  readonly model: string
  readonly key: ApiKey | null
  readonly granted?: boolean
}

const noneForbidden = (): ReadonlyArray<Skipped> => []

/** `resolve`: which model an entry of a list means. */
export const make = ({ registry, snapshot }: { readonly snapshot: Snapshot; readonly registry: Registry }, resolve: (id: string) => Resolution | ResolvedCombo) => {
  const directory: Rights.Directory = {
    aliases: snapshot.aliases,
    meantBy: (id) => {
      const resolved = resolve(id)
      return resolved._tag !== "Resolved" || resolved.via === "wildcard"
        ? null
        : { publicModel: resolved.id, thinking: resolved.noThinking ? "off" : resolved.level }
    },
    isPublic: ({ model, provider, publicModel }) => {
      const id = publicModel.slice(publicModel.indexOf("/") + 1)
      const facts = registry.modelsOf.get(provider)?.get(id)
      // An operator's model of the same name may lead to another one.
      return facts !== undefined && model === (facts.upstreamId ?? id)
    }
  }
  const rightsOfKeys = new WeakMap<ApiKey, Rights.Rights | "all">()
  const rightsOf = (key: ApiKey | null): Rights.Rights | null => {
    if (key === null) return null
    let rights = rightsOfKeys.get(key)
    if (rights === undefined) rightsOfKeys.set(key, rights = Rights.of(key, directory) ?? "all")
    return rights === "all" ? null : rights
  }

  /** The targets of a plan that the key may use, those it prefers first. */
  const permitted = (plan: Plan, { granted, key, model }: Asked): Permitted | PublicError => {
    if (plan instanceof PublicError) return plan
    if (key === null) return { targets: plan, forbidden: noneForbidden }
    const rights = rightsOf(key)
    const { preferredConnections } = key.policy
    if (rights === null) return { targets: preferredFirst(plan, preferredConnections), forbidden: noneForbidden }
    return restricted(plan, rights, preferredConnections, granted === true ? null : model)
  }

  const restricted = (plan: ReadonlyArray<Target>, rights: Rights.Rights, preferredConnections: ReadonlyArray<string>, model: string | null): Permitted | PublicError => {
    const refusals = plan.map((target) => rights.ofTarget(target, model))
    const targets = plan.filter((_, i) => refusals[i] === null)
    if (targets.length === plan.length) return { targets: preferredFirst(plan, preferredConnections), forbidden: noneForbidden }
    const forbidden = () => Selection.candidatesOf(plan).flatMap((candidate, i): ReadonlyArray<Skipped> => {
      const refusal = refusals[i] ?? null
      return refusal === null ? [] : [{ candidate, unavailable: { reason: "not-allowed", until: null, detail: refusal.message } }]
    })
    const [refusal] = refusals
    return targets.length === 0 && refusal !== null && refusal !== undefined
      ? Unavailable.forbidden(refusal, { combo: null, refused: [], forbidden: forbidden() })
      : { targets: preferredFirst(targets, preferredConnections), forbidden }
  }

  return { permitted, rightsOf }
}

const prints = new WeakMap<ApiKey, string>()

export const printOf = (key: ApiKey | null): string => {
  if (key === null) return ""
  let print = prints.get(key)
  if (print === undefined) prints.set(key, print = Rights.printOf(key))
  return print
}

export const namedOf = ({ id, level, model, node, noThinking, provider, row }: ResolvedModel): Rights.Named => ({
  provider, providerAlias: row?.alias ?? node?.prefix ?? provider, publicModel: id, model, thinking: noThinking ? "off" : level
})
