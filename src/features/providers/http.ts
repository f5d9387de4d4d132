import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { Credentials } from "#actors/request/ports/Credentials.ts"
import { ResilienceControl } from "#src/features/resilience/ports/ResilienceControl.ts"
import { type ConnectionView, ProvidersGroup } from "./api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import { answer } from "#src/management/answer.ts"
import { Additions } from "./Additions.ts"
import { view } from "#src/features/providers/ports/connectionRecord.ts"
import { Connections, refuseStrangers } from "#src/features/providers/ports/Connections.ts"
import * as ConnectionDocuments from "./ConnectionDocuments.ts"
import { ConnectionTests, selected } from "./ConnectionTests.ts"
import * as Overview from "./overview.ts"
import * as TokenRefusal from "./tokenRefusal.ts"
import { Upstreams } from "./Upstreams.ts"
import { marksOf } from "#src/features/resilience/ports/marks.ts"
import { builtin } from "#src/providers/Registry.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"
import * as Surface from "#src/management/Surface.ts"

export const layer = HttpApiBuilder.group(Surface.make(ProvidersGroup), "providers", Effect.fn(function*(handlers) {
  const additions = yield* Additions
  const credentials = yield* Credentials
  const configuration = yield* Configuration
  const connections = yield* Connections
  const tests = yield* ConnectionTests
  const upstreams = yield* Upstreams
  const control = yield* ResilienceControl

  const viewOf = (connection: Connection): ConnectionView => view(connection, configuration.current())

  /** With the cooldown of this moment: the record follows a little later. */
  const shown = Effect.map(Clock.currentTimeMillis, (now) => {
    const cooling = new Map(control.cooldowns(now).map((cooldown) => [cooldown.connectionId, cooldown]))
    return (connection: Connection): ConnectionView => {
      const cooldown = cooling.get(connection.id)
      return viewOf(cooldown === undefined ? connection : { ...connection, ...marksOf(connection, cooldown, { until: 0 }, now) })
    }
  })

  const { filters, rules } = yield* ConnectionDocuments.make

  const testBatch = Effect.fn("Providers.testBatch")(function*(body: {
    readonly mode: Parameters<typeof selected>[1]
    readonly providerId?: string
    readonly connectionIds?: ReadonlyArray<string>
  }) {
    if (body.mode === "provider" && body.providerId === undefined) {
      return yield* Effect.fail(Refusal.invalidField("providerId", "Required for mode provider"))
    }
    if (body.mode === "selected" && (body.connectionIds?.length ?? 0) === 0) {
      return yield* Effect.fail(Refusal.invalidField("connectionIds", "Required for mode selected"))
    }
    if (body.mode === "selected") yield* refuseStrangers(configuration.current(), "connectionIds", body.connectionIds ?? [])
    if (body.mode === "provider" && knownProvider(configuration.current(), body.providerId ?? "") === null) {
      return yield* Effect.fail(Refusal.invalidField("providerId", unknownProvider(body.providerId ?? "")))
    }
    const results = yield* tests.testAll(selected(configuration.current(), body.mode, body.providerId, body.connectionIds))
    const passed = results.filter((result) => result.valid).length
    return {
      mode: body.mode,
      providerId: body.providerId === undefined ? null : shownProvider(configuration.current(), body.providerId),
      results,
      testedAt: new Date(yield* Clock.currentTimeMillis).toISOString(),
      summary: { total: results.length, passed, failed: results.length - passed }
    }
  })

  return handlers.handleAll({
    list: () => Effect.map(shown, (of) => ({ connections: configuration.current().connections.map(of) })),
    create: ({ payload }) => answer(Effect.gen(function*() {
      const connection = yield* connections.prepare(payload)
      yield* connections.store(connection)
      return { connection: viewOf(connection) }
    })),
    activate: ({ payload }) => answer(Effect.map(connections.activate(payload.ids, payload.isActive), (updated) => ({ updated }))),
    client: () => Effect.sync(() => ({ providers: Overview.catalogue(builtin, configuration.current()) })),
    expiration: () => Effect.map(Clock.currentTimeMillis, (now) => ({ connections: Overview.expiring(configuration.current(), now) })),
    validate: ({ payload }) => answer(upstreams.validate(payload)),
    testBatch: ({ payload }) => answer(testBatch(payload)),
    bulk: ({ payload: { entries, provider, validateKeys, ...shared } }) => additions.add(
      entries.map(({ accountId, ...entry }) => ({
        ...shared,
        ...entry,
        provider,
        providerSpecificData: { ...shared.providerSpecificData, ...(accountId === undefined ? {} : { accountId }) }
      })),
      validateKeys === true
    ),
    import: ({ payload }) => additions.add(
      payload.entries.map(({ baseUrl, ...entry }) => ({ ...entry, ...(baseUrl === undefined ? {} : { providerSpecificData: { baseUrl } }) })),
      payload.validateKeys === true
    ),
    get: ({ params }) => answer(Effect.zipWith(connections.get(params.id), shown, (connection, of) => ({ connection: of(connection) }))),
    update: ({ params, payload }) =>
      answer(Effect.map(connections.change(params.id, payload), (connection) => ({ connection: viewOf(connection) }))),
    remove: ({ params }) => answer(Effect.as(connections.remove(params.id), { message: "Connection deleted" })),
    test: ({ params }) => answer(Effect.flatMap(connections.get(params.id), tests.test)),
    refresh: ({ params }) => answer(Effect.gen(function*() {
      const { id } = yield* connections.get(params.id)
      const { expiresAt } = yield* Effect.mapError(credentials.renew(id), TokenRefusal.of)
      return { success: true as const, expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString() }
    })),
    models: ({ params }) => answer(Effect.flatMap(connections.get(params.id), upstreams.models)),
    syncModels: ({ params }) => answer(Effect.flatMap(connections.get(params.id), upstreams.sync)),
    paramFilters: ({ params }) => answer(filters.get(params.id)),
    setParamFilters: ({ params, payload }) => answer(filters.put(params.id, payload)),
    interceptionRules: ({ params }) => answer(rules.get(params.id)),
    setInterceptionRules: ({ params, payload }) => answer(rules.put(params.id, payload))
  })
}))
