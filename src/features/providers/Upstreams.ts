/** Asks upstreams: reads and stores a provider's model list, and probes offered credentials. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { Credentials } from "#actors/request/ports/Credentials.ts"
import { ProviderProbe, type UpstreamModel } from "#src/features/providers/ports/ProviderProbe.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { CustomModelStore, DocumentStore } from "#actors/ports/Stores.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { CustomModel } from "#schemas/records/CustomModel.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { knownProvider } from "#src/management/knownProvider.ts"
import * as CredentialKind from "#src/providers/credentialKind.ts"
import { builtin } from "#src/providers/Registry.ts"
import * as Credential from "./credential.ts"
import { ConnectionTests } from "./ConnectionTests.ts"
import { emptyModel } from "#src/features/providers/models/customModelRecord.ts"
import * as TokenRefusal from "./tokenRefusal.ts"

type Done<A> = Effect.Effect<A, Refusal.Refusal | StoreError, ManagementCall>

export interface ModelList {
  readonly provider: string
  readonly connectionId: string
  readonly models: ReadonlyArray<UpstreamModel>
  readonly source: string
}

export interface Offered {
  readonly provider: string
  readonly apiKey?: string
  readonly validationModelId?: string
  readonly customUserAgent?: string
  readonly baseUrl?: string
  readonly region?: string
  readonly accessKeyId?: string
  readonly sessionToken?: string
  readonly cx?: string
}

export interface CredentialVerdict {
  readonly valid: boolean
  readonly error: string | null
  readonly warning: string | null
  readonly method: string | null
}

/** What an upstream listed when it was asked last. */
export interface SyncedList {
  readonly provider: string
  readonly connectionId: string
  /** ISO 8601; null on records of older releases. */
  readonly syncedAt: string | null
  readonly models: ReadonlyArray<UpstreamModel>
}

export class Upstreams extends Context.Service<Upstreams, {
  readonly models: (connection: Connection) => Done<ModelList>
  readonly sync: (connection: Connection) => Done<ModelList>
  /** As `sync`, on the gateway's own account; a list that did not change is not stored again. */
  readonly refresh: (connection: Connection) => Effect.Effect<void, Refusal.Refusal | StoreError>
  /** The lists that are kept, in the order of the connections; `provider`: an id, or null for all. */
  readonly synced: (provider: string | null) => Effect.Effect<ReadonlyArray<SyncedList>, StoreError>
  readonly validate: (offered: Offered) => Done<CredentialVerdict>
}>()("gateway/http/Upstreams") {}

const KIND = "synced-models"
/** Models kept of one upstream. */
const MODELS_MAX = 2000

const Synced = Schema.Struct({
  syncedAt: Schema.optionalKey(Schema.String),
  models: Schema.Array(Schema.Struct({
    id: Schema.String, name: Schema.NullOr(Schema.String), contextWindow: Schema.optionalKey(Schema.Int), maxOutputTokens: Schema.optionalKey(Schema.Int)
  }))
})
const readSynced = Schema.decodeUnknownOption(Synced)

/** Without the limits, which the records of the models say. */
const namesOf = (models: ReadonlyArray<UpstreamModel>): ReadonlyArray<Pick<UpstreamModel, "id" | "name">> => models.map(({ id, name }) => ({ id, name }))

/** What makes two lists the same: ids and limits. */
const printOf = (models: ReadonlyArray<UpstreamModel>): string =>
  JSON.stringify(models.map(({ contextWindow, id, maxOutputTokens }) => [id, contextWindow, maxOutputTokens]).sort())

/** The record with the limits that the list says now; those that the operator changed since the list `before` stay. */
const withLimits = (model: CustomModel, now: UpstreamModel, before: UpstreamModel | undefined): CustomModel => {
  const limit = (own: number | null, listed: number | undefined, last: number | undefined): number | null => own === (last ?? null) ? listed ?? null : own
  const contextWindowOverride = limit(model.contextWindowOverride, now.contextWindow, before?.contextWindow)
  const maxOutputTokens = limit(model.maxOutputTokens, now.maxOutputTokens, before?.maxOutputTokens)
  return contextWindowOverride === model.contextWindowOverride && maxOutputTokens === model.maxOutputTokens
    ? model
    : { ...model, contextWindowOverride, maxOutputTokens }
}

const badGateway = (message: string): Refusal.Refusal => new Refusal.Refusal(502, "server_error", "upstream_error", message)

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const credentials = yield* Credentials
  const customModels = yield* CustomModelStore
  const documents = yield* DocumentStore
  const probe = yield* ProviderProbe
  const tests = yield* ConnectionTests

  const nameOf = ({ provider }: Connection): string => shownProvider(configuration.current(), provider)

  const read = Effect.fnUntraced(function*(connection: Connection) {
    const result = yield* tests.probe(connection)
    if (!result.valid || result.models === null) {
      return yield* Effect.fail(badGateway(result.diagnosis?.message ?? "The upstream offers no model list"))
    }
    return result.models.slice(0, MODELS_MAX)
  })

  /** Models of a node are not in the registry: the synced ones are kept as custom models, those that are gone are removed. */
  const keepForNode = Effect.fnUntraced(function*(provider: string, models: ReadonlyArray<UpstreamModel>, before: ReadonlyArray<UpstreamModel>, now: string) {
    const known = configuration.current().customModels.filter((model) => model.provider === provider)
    const offered = new Set(models.map((model) => model.id))
    for (const model of known) {
      if (model.source === "synced" && !offered.has(model.modelId)) yield* customModels.remove(provider, model.modelId)
    }
    const kept = new Map(known.map((model) => [model.modelId, model]))
    const listed = new Map(before.map((model) => [model.id, model]))
    for (const model of models) {
      const own = kept.get(model.id)
      const made = withLimits(own ?? { ...emptyModel(provider, model.id, now), modelName: model.name, source: "synced" }, model, listed.get(model.id))
      if (made !== own) yield* customModels.upsert(made)
    }
  })

  const keep = Effect.fnUntraced(function*(connection: Connection, models: ReadonlyArray<UpstreamModel>) {
    const now = new Date(yield* Clock.currentTimeMillis).toISOString()
    yield* configuration.commit(Effect.gen(function*() {
      const stored = readSynced(yield* documents.get(KIND, connection.id))
      const before = stored._tag === "Some" ? stored.value.models : []
      yield* documents.put(KIND, connection.id, { models, syncedAt: now })
      if (configuration.current().nodeById.has(connection.provider)) yield* keepForNode(connection.provider, models, before, now)
    }))
  })

  return Upstreams.of({
    models: Effect.fn("Upstreams.models")(function*(connection) {
      const named = { provider: nameOf(connection), connectionId: connection.id }
      const synced = readSynced(yield* documents.get(KIND, connection.id))
      if (synced._tag === "Some") return { ...named, models: namesOf(synced.value.models), source: "synced" }
      const row = builtin.byId.get(connection.provider)
      if (row !== undefined) {
        return { ...named, models: row.models.map(({ id, name }) => ({ id, name })), source: "registry" }
      }
      return { ...named, models: namesOf(yield* read(connection)), source: "upstream" }
    }),
    sync: Effect.fn("Upstreams.sync")(function*(connection) {
      const models = yield* read(connection)
      yield* keep(connection, models)
      return { provider: nameOf(connection), connectionId: connection.id, models: namesOf(models), source: "upstream" }
    }),
    refresh: Effect.fn("Upstreams.refresh")(function*(connection) {
      const models = yield* read(connection)
      const stored = readSynced(yield* documents.get(KIND, connection.id))
      if (stored._tag === "Some" && printOf(stored.value.models) === printOf(models)) return
      // The operator may have deleted it while its upstream was asked.
      if (configuration.current().connectionById.has(connection.id)) yield* keep(connection, models)
    }),
    synced: Effect.fn("Upstreams.synced")(function*(provider) {
      const kept = yield* documents.list(KIND)
      return configuration.current().connections.flatMap((connection): ReadonlyArray<SyncedList> => {
        if (provider !== null && connection.provider !== provider) return []
        const list = readSynced(kept.get(connection.id))
        return list._tag === "None" ? [] : [{ provider: nameOf(connection), connectionId: connection.id, syncedAt: list.value.syncedAt ?? null, models: list.value.models }]
      })
    }),
    validate: Effect.fn("Upstreams.validate")(function*(offered) {
      const { apiKey, baseUrl, provider, validationModelId, ...data } = offered
      const id = knownProvider(configuration.current(), provider)
      if (id === null) return yield* Effect.fail(Refusal.invalidField("provider", "No such provider or provider node"))
      const credential = Credential.clean(apiKey, "apiKey")
      if (credential instanceof Refusal.Refusal) return yield* Effect.fail(credential)
      const rest = { provider: id, baseUrl: baseUrl ?? null, model: validationModelId ?? null }
      const result = yield* (credential !== null && CredentialKind.isDocument(credential)
        ? Effect.matchEffect(credentials.exchange(id, Redacted.make(credential)), {
          onFailure: (failure) => Effect.succeed(TokenRefusal.probeResult(failure)),
          onSuccess: ({ value }) => {
            const project = CredentialKind.readServiceAccount(credential)?.project ?? null
            return probe.probe({
              ...rest, authType: "oauth", credential: value, providerSpecificData: project === null ? data : { project, ...data }
            })
          }
        })
        : probe.probe({
          ...rest, authType: credential === null ? "none" : "apikey",
          credential: credential === null ? null : Redacted.make(credential), providerSpecificData: data
        }))
      const message = result.diagnosis?.message ?? null
      if (result.blocked) {
        yield* audit.note({ action: "provider.validation.ssrf_blocked", target: shownProvider(configuration.current(), id), resourceType: "provider", status: "blocked" })
        return yield* Effect.fail(Refusal.badRequest(message ?? "The URL is blocked", { code: "url_blocked" }))
      }
      if (result.diagnosis?.type === "unsupported") return yield* Effect.fail(Refusal.badRequest(result.diagnosis.message, { code: "unsupported" }))
      const limited = result.diagnosis?.type === "upstream_rate_limited"
      return {
        valid: result.valid || limited,
        error: result.valid || limited ? null : message,
        warning: limited ? message : null,
        method: result.method
      }
    })
  })
})

export const layer = Layer.effect(Upstreams, make)
