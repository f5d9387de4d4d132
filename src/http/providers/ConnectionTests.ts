/** Asking upstreams whether stored or offered credentials work (supplement 1.6, 1.7). */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import { type Candidate, ProviderProbe, type ProbeResult } from "#actors/ports/ProviderProbe.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import type { TestMode, TestResult } from "#schemas/api/Providers.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import { builtin } from "#src/providers/Registry.ts"
import * as Made from "./connection.ts"

/** Tests that run at once (supplement 1.6). */
const PARALLEL = 5

export class ConnectionTests extends Context.Service<ConnectionTests, {
  /** Probes and records the outcome on the connection. */
  readonly test: (connection: Connection) => Effect.Effect<TestResult, StoreError>
  readonly testAll: (connections: ReadonlyArray<Connection>) => Effect.Effect<ReadonlyArray<TestResult>, StoreError>
  /** Probes; nothing is recorded. */
  readonly probe: (connection: Connection) => Effect.Effect<ProbeResult>
}>()("gateway/http/ConnectionTests") {}

const text = (value: unknown): string | null => typeof value === "string" && value !== "" ? value : null

export const candidateOf = (connection: Connection): Candidate => ({
  provider: connection.provider,
  authType: connection.authType,
  credential: connection.authType === "oauth" ? connection.accessToken : connection.apiKey ?? connection.accessToken,
  baseUrl: text(connection.providerSpecificData["baseUrl"]),
  model: text(connection.providerSpecificData["validationModelId"]) ?? connection.defaultModel,
  providerSpecificData: connection.providerSpecificData
})

/** The connections a mode of POST /api/providers/test-batch means. */
export const selected = (
  snapshot: Snapshot,
  mode: TestMode,
  providerId: string | undefined,
  ids: ReadonlyArray<string> | undefined
): ReadonlyArray<Connection> => {
  const inCategory = (c: Connection) => builtin.byId.get(c.provider)?.category === mode
  const rules: Readonly<Record<TestMode, (c: Connection) => boolean>> = {
    provider: (c) => c.provider === providerId,
    selected: (c) => ids?.includes(c.id) === true,
    all: () => true,
    oauth: (c) => c.authType === "oauth",
    apikey: (c) => c.authType === "apikey",
    "no-auth": (c) => c.authType === "none",
    free: (c) => builtin.byId.get(c.provider)?.freeTier === true,
    compatible: (c) => snapshot.nodeById.has(c.provider),
    search: inCategory,
    audio: inCategory,
    local: inCategory,
    "web-cookie": () => false,
    "upstream-proxy": () => false,
    "cloud-agent": () => false,
    ide: () => false
  }
  return snapshot.connections.filter(rules[mode])
}

const terminal: ReadonlySet<string> = new Set(["expired", "banned", "credits_exhausted"])

/** What a test leaves on the connection: a success clears everything held against it, a failure keeps a terminal status. */
const marks = (connection: Connection, result: ProbeResult, now: string): Made.Patch => result.valid
  ? { testStatus: "active", lastTested: now, ...Made.noError }
  : {
    testStatus: terminal.has(connection.testStatus) ? connection.testStatus : "error",
    lastTested: now,
    lastError: result.diagnosis?.message ?? "The test failed",
    lastErrorType: result.diagnosis?.type ?? null,
    lastErrorSource: result.diagnosis?.source ?? null,
    errorCode: result.diagnosis?.code ?? null,
    lastErrorAt: now
  }

export const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const probe = yield* ProviderProbe
  const store = yield* ConnectionStore

  const run = Effect.fnUntraced(function*(connection: Connection) {
    const result = yield* probe.probe(candidateOf(connection))
    const testedAt = new Date(yield* Clock.currentTimeMillis).toISOString()
    yield* store.patch(connection.id, marks(connection, result, testedAt))
    return {
      provider: connection.provider,
      connectionId: connection.id,
      connectionName: connection.name,
      authType: connection.authType,
      valid: result.valid,
      latencyMs: result.latencyMs,
      error: result.diagnosis?.message ?? null,
      diagnosis: result.diagnosis,
      statusCode: result.statusCode,
      testedAt
    }
  })

  return ConnectionTests.of({
    probe: (connection) => probe.probe(candidateOf(connection)),
    test: (connection) => Effect.tap(run(connection), () => configuration.reload),
    testAll: (connections) => Effect.tap(Effect.forEach(connections, run, { concurrency: PARALLEL }), () => configuration.reload)
  })
})

export const layer = Layer.effect(ConnectionTests, make)
