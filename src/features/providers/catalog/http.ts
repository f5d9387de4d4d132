import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as Schema from "effect/Schema"
import { blockedProviders, Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { catalogView } from "#src/routing/models/catalogView.ts"
import { managementCatalog } from "#src/routing/models/modelCatalog.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"
import { variantsOf } from "#src/routing/models/resolverView.ts"
import { codeOf, resolveModel } from "#src/routing/models/resolveModel.ts"
import { ModelsGroup } from "./api.ts"
import { ConnectionTests } from "#src/features/providers/ConnectionTests.ts"
import { Upstreams } from "#src/features/providers/Upstreams.ts"
import * as Surface from "#src/management/Surface.ts"

const KIND = "alias"

const Wildcards = Schema.Array(Schema.Struct({ pattern: Schema.String, target: Schema.String }))
const readWildcards = Schema.decodeUnknownOption(Wildcards)
const From = Schema.Struct({ from: Schema.String })
const readFrom = Schema.decodeUnknownOption(Schema.fromJsonString(From))

export const layer = HttpApiBuilder.group(Surface.make(ModelsGroup), "models", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const flags = yield* Flags
  const upstreams = yield* Upstreams
  const tests = yield* ConnectionTests

  const catalogVersion = () => String(configuration.current().version)
  const versioned = <A>(body: A) => HttpApiSchema.withHeaders({ body, headers: { "x-model-catalog-version": catalogVersion() } })
  const aliases = () => Object.fromEntries(configuration.current().aliases)

  const resolve = Effect.fnUntraced(function*(alias: string) {
    const snapshot = configuration.current()
    const wildcards = readWildcards(snapshot.settings.get("wildcardAliases"))
    const found = resolveModel({
      ...catalogView(snapshot),
      wildcardAliases: wildcards._tag === "Some" ? wildcards.value : [],
      ...variantsOf(flags)
    }, alias)
    if (found._tag === "Unresolved") {
      const code = codeOf(found)
      return yield* Effect.fail(found.reason === "ProviderRequired"
        ? Refusal.badRequest(found.message, { code, errorExtra: { candidates: [...found.candidates], nearMatches: [] } })
        : Refusal.notFound(found.message, { code, errorExtra: { candidates: [], nearMatches: [...found.nearMatches] } }))
    }
    return {
      alias,
      resolved: {
        provider: shownProvider(snapshot, found.provider),
        providerAlias: found.row?.alias ?? found.node?.prefix ?? found.provider,
        model: found.model,
        qualifiedId: found.id,
        source: found.via,
        target: snapshot.aliases.get(alias) ?? found.id,
        metadata: {
          contextWindow: found.facts?.contextWindow ?? null,
          maxOutputTokens: found.facts?.maxOutputTokens ?? null,
          noThinking: found.noThinking
        }
      },
      catalogVersion: catalogVersion()
    }
  })

  const set = Effect.fn("ModelCatalog.setAlias")(function*(alias: string, model: string) {
    if (alias === model) return yield* Effect.fail(Refusal.invalidField("model", "An alias cannot point at itself"))
    yield* configuration.commit(documents.put(KIND, alias, model))
    yield* audit.note({ action: "alias.set", target: alias, resourceType: "alias", details: { model } })
  })

  const remove = Effect.fn("ModelCatalog.removeAlias")(function*(alias: string) {
    if (!(yield* configuration.commit(documents.remove(KIND, alias)))) return yield* Effect.fail(Refusal.notFound("Alias not found"))
    yield* audit.note({ action: "alias.removed", target: alias, resourceType: "alias" })
    return { success: true as const }
  })

  const setAlias = ({ alias, model }: { readonly alias: string; readonly model: string }) =>
    answer(Effect.as(set(alias, model), { success: true as const, model, alias }))

  const list = (provider: string | undefined) => {
    const snapshot = configuration.current()
    const only = provider === undefined ? null : shownProvider(snapshot, knownProvider(snapshot, provider) ?? provider)
    const aliasesOf = Map.groupBy(snapshot.aliases, ([, model]) => model)
    const models = Object.entries(managementCatalog(catalogView(snapshot))).flatMap(([owner, { active, models: all }]) =>
      only !== null && owner !== only ? [] : all.map(({ custom, id, name, type }) => ({
        provider: owner, model: id.slice(id.indexOf("/") + 1), fullModel: id, name, type, custom, active, aliases: (aliasesOf.get(id) ?? []).map(([alias]) => alias)
      })))
    return { models }
  }

  const test = Effect.fn("ModelCatalog.test")(function*(wanted: { readonly provider: string; readonly model: string; readonly connectionId?: string }) {
    const snapshot = configuration.current()
    const provider = knownProvider(snapshot, wanted.provider)
    if (provider === null) return yield* Effect.fail(Refusal.invalidField("provider", unknownProvider(wanted.provider)))
    if (blockedProviders(snapshot).has(provider)) return yield* Effect.fail(Refusal.badRequest("The provider is blocked (setting blockedProviders)"))
    const named = wanted.connectionId === undefined ? undefined : snapshot.connectionById.get(wanted.connectionId)
    if (wanted.connectionId !== undefined && named?.provider !== provider) return yield* Effect.fail(Refusal.invalidField("connectionId", "No connection of the provider has this id"))
    const connection = named ?? snapshot.activeByProvider.get(provider)?.[0]
    if (connection === undefined) return yield* Effect.fail(Refusal.badRequest("The provider has no active connection to ask"))
    const { diagnosis, latencyMs, statusCode, valid } = yield* tests.probe(connection, { model: wanted.model, wants: "chat" })
    yield* audit.note({ action: "model.tested", target: `${shownProvider(snapshot, provider)}/${wanted.model}`, resourceType: "model", status: valid ? "success" : "failure" })
    return { provider: shownProvider(snapshot, provider), model: wanted.model, connectionId: connection.id, valid, latencyMs, statusCode, error: diagnosis?.message ?? null }
  })

  return handlers.handleAll({
    all: ({ query }) => Effect.sync(() => list(query.provider)),
    test: ({ payload }) => answer(test(payload)),
    aliases: ({ query }) => query.alias === undefined
      ? Effect.sync(() => versioned({ aliases: aliases(), catalogVersion: catalogVersion() }))
      : Effect.map(resolve(query.alias), versioned),
    synced: ({ query: { provider } }) => answer(Effect.map(
      upstreams.synced(provider === undefined ? null : knownProvider(configuration.current(), provider) ?? provider), (lists) => ({ lists }))),
    setAlias: ({ payload }) => setAlias(payload),
    postAlias: ({ payload }) => setAlias(payload),
    removeAlias: ({ query }) => answer(remove(query.alias)),
    settingAliases: () => Effect.sync(() => ({ aliases: aliases() })),
    addSettingAlias: ({ payload }) => answer(Effect.as(set(payload.from, payload.to), { success: true as const })),
    removeSettingAlias: ({ query, request }) => answer(Effect.gen(function*() {
      if (query.from !== undefined) return yield* remove(query.from)
      const body = readFrom(yield* Effect.orDie(request.text))
      if (body._tag === "None") return yield* Effect.fail(Refusal.invalidField("from", "Required"))
      return yield* remove(body.value.from)
    })),
    catalog: () => Effect.sync(() => ({
      catalog: managementCatalog(catalogView(configuration.current())), catalogVersion: catalogVersion()
    }))
  })
}))
