/** The provider registry: rows of `data/*.json`, indexed once and frozen; validated by a test, never at start. */
import type { Model, Provider } from "#schemas/Provider.ts"
import * as Data from "./data/index.ts"

export interface Registry {
  readonly all: ReadonlyArray<Provider>
  readonly byId: ReadonlyMap<string, Provider>
  readonly byAlias: ReadonlyMap<string, Provider>
  /** Ids and aliases together: what may stand before the first slash of a model id. */
  readonly byPrefix: ReadonlyMap<string, Provider>
  /** Provider id -> every id its models answer to, dated aliases included. */
  readonly modelsOf: ReadonlyMap<string, ReadonlyMap<string, Model>>
  /** Bare model id -> the providers that serve it, in registry order. */
  readonly byModel: ReadonlyMap<string, ReadonlyArray<Provider>>
}

const deepFreeze = <A>(value: A): A => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const key in value) deepFreeze(value[key])
  }
  return value
}

const noModels: ReadonlyMap<string, Model> = new Map()

/** Builds the indexes of a list of rows; the first owner of an id keeps it (a test keeps the shipped rows unique). */
export const make = (rows: ReadonlyArray<Provider>): Registry => {
  const all = deepFreeze(rows.slice())
  const byId = new Map<string, Provider>()
  const byAlias = new Map<string, Provider>()
  const byPrefix = new Map<string, Provider>()
  const modelsOf = new Map<string, ReadonlyMap<string, Model>>()
  const byModel = new Map<string, Array<Provider>>()
  for (const row of all) {
    if (!byId.has(row.id)) byId.set(row.id, row)
    if (!byAlias.has(row.alias)) byAlias.set(row.alias, row)
  }
  for (const [alias, row] of byAlias) byPrefix.set(alias, row)
  for (const [id, row] of byId) byPrefix.set(id, row)
  for (const row of byId.values()) {
    const models = new Map<string, Model>()
    for (const model of row.models) {
      models.set(model.id, model)
      for (const alias of model.aliases ?? []) if (!models.has(alias)) models.set(alias, model)
    }
    modelsOf.set(row.id, models)
    for (const id of models.keys()) {
      const owners = byModel.get(id)
      if (owners === undefined) byModel.set(id, [row])
      else owners.push(row)
    }
  }
  return Object.freeze({ all, byId, byAlias, byPrefix, modelsOf, byModel })
}

/** The models of a provider by id; empty for a node or an unknown provider. */
export const modelsOf = (registry: Registry, provider: string): ReadonlyMap<string, Model> =>
  registry.modelsOf.get(provider) ?? noModels

/** The built-in rows. */
export const builtin: Registry = make(Data.rows)
