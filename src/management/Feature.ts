/**
 * A feature as the assemblies see it: one value, exported by `src/features/<noun>/feature.ts` and listed in `src/features.ts`. What a
 * feature does not have it leaves out; a folder and its line in the list are all that must go to remove it.
 */
import type * as Effect from "effect/Effect"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as Layer from "effect/Layer"
import type * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { DegradationRow } from "#schemas/degradation.ts"
import type { Table } from "#src/management/acting/ActingTable.ts"
import type { Settings } from "#src/platform/configuration/Settings.ts"
import type { StoreOptions } from "#src/platform/postgres/operation.ts"

/** One version of the database's schema. */
export type Migration = Effect.Effect<unknown, SqlError, SqlClient.SqlClient>

/** Every layer is one of these. */
type AnyLayer = Layer.Layer<never, unknown, unknown>

export interface Feature {
  readonly name: string
  /** Groups of the management API. */
  readonly groups?: readonly [HttpApiGroup.Constraint, ...ReadonlyArray<HttpApiGroup.Constraint>]
  /** The handlers of the groups, with the services and the background work that belong to them. */
  readonly handlers?: AnyLayer
  /** What the services of all features stand on: keys, credentials, breakers; built on records, configuration and the way out. */
  readonly shared?: (settings: Settings["Service"]) => AnyLayer
  /** Listeners of events: built over what is shared and before the ledger, so that they may wrap its store. */
  readonly listeners?: (settings: Settings["Service"]) => AnyLayer
  /** What requests and handlers ask of it; built over the ledger, before the endpoints, and stopped before the ledger is flushed. */
  readonly services?: (settings: Settings["Service"]) => AnyLayer
  /** Its tables behind its store ports. */
  readonly stores?: (options: StoreOptions) => AnyLayer
  /** Which fields of its records act. */
  readonly acting?: ReadonlyArray<Table>
  /** What it does while a server, a disk or a node that it depends on fails. */
  readonly degradation?: ReadonlyArray<DegradationRow>
  /** `<number>_<name>`: numbers are given once over all features, and a released version never changes. */
  readonly migrations?: Readonly<Record<`${number}_${string}`, Migration>>
}

/** Checks a feature and keeps its exact type, so that what the assemblies fold stays typed. */
export const make = <const F extends Feature>(feature: F): F => feature

type Part<F extends Feature, K extends keyof Feature> = F extends Readonly<Record<K, infer A>> ? A : never

/** One part of all the features that have it, in their order. */
export const parts = <F extends Feature, K extends keyof Feature>(features: ReadonlyArray<F>, key: K): ReadonlyArray<Part<F, K>> =>
  features.flatMap((feature) => key in feature ? [feature[key] as Part<F, K>] : [])

/** Any number of layers as one. */
export const merged = <L extends AnyLayer>(layers: ReadonlyArray<L>) =>
  layers.reduce<AnyLayer>((all, layer) => Layer.merge(all, layer), Layer.empty) as Layer.Layer<Layer.Success<L>, Layer.Error<L>, Layer.Services<L>>
