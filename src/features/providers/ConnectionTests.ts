/** Tests at the upstreams whether stored or offered credentials work. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration, shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import { Credentials } from "#actors/request/ports/Credentials.ts"
import { type Candidate, ProviderProbe, type ProbeResult } from "#src/features/providers/ports/ProviderProbe.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import type { TestMode, TestResult } from "./api.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import { knownProvider } from "#src/management/knownProvider.ts"
import * as CredentialKind from "#src/providers/credentialKind.ts"
import { builtin } from "#src/providers/Registry.ts"
import * as ConnectionRecord from "#src/features/providers/ports/connectionRecord.ts"
import * as TokenRefusal from "./tokenRefusal.ts"

/** Tests that run at once. */
const PARALLEL = 5

export class ConnectionTests extends Context.Service<ConnectionTests, {
  /** Probes and records the outcome on the connection. */
  readonly test: (connection: Connection) => Effect.Effect<TestResult, StoreError>
  readonly testAll: (connections: ReadonlyArray<Connection>) => Effect.Effect<ReadonlyArray<TestResult>, StoreError>
  /** Probes; nothing is recorded. `more` replaces what the connection itself says, such as the model. */
  readonly probe: (connection: Connection, more?: Partial<Candidate>) => Effect.Effect<ProbeResult>
}>()("gateway/http/ConnectionTests") {}

const text = (value: unknown): string | null => typeof value === "string" && value !== "" ? value : null

const candidateOf = (connection: Connection): Candidate => ({
  connection,
  provider: connection.provider,
  authType: connection.authType,
  credential: connection.authType === "oauth" ? connection.accessToken : connection.apiKey ?? connection.accessToken,
  baseUrl: text(connection.providerSpecificData["baseUrl"]),
  model: text(connection.providerSpecificData["validationModelId"]) ?? connection.defaultModel,
  providerSpecificData: connection.providerSpecificData
})

/** A short-lived token stands in for the stored secret; the project that the service account names goes with it. */
const candidateWith = (connection: Connection, token: Candidate["credential"]): Candidate => {
  const project = CredentialKind.projectOf(connection)
  return {
    ...candidateOf(connection),
    authType: "oauth",
    credential: token,
    providerSpecificData: project === null ? connection.providerSpecificData : { project, ...connection.providerSpecificData }
  }
}

/** The connections a mode of POST /api/providers/test-batch means. */
export const selected = (
  snapshot: Snapshot,
  mode: TestMode,
  providerId: string | undefined,
  ids: ReadonlyArray<string> | undefined
): ReadonlyArray<Connection> => {
  const provider = providerId === undefined ? undefined : knownProvider(snapshot, providerId) ?? providerId
  const inCategory = (c: Connection) => builtin.byId.get(c.provider)?.category === mode
  const rules: Readonly<Record<TestMode, (c: Connection) => boolean>> = {
    provider: (c) => c.provider === provider,
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
const marks = (connection: Connection, result: ProbeResult, now: string): ConnectionRecord.Patch => result.valid
  ? { testStatus: "active", lastTested: now, ...ConnectionRecord.noError }
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
  const credentials = yield* Credentials
  const probe = yield* ProviderProbe
  const store = yield* ConnectionStore

  /** A connection that needs a sign-in is given the chance to show that it does not. */
  const tokenOf = (connection: Connection) => {
    if (connection.apiKey !== null && configuration.current().connectionById.get(connection.id) === undefined) {
      return credentials.exchange(connection.provider, connection.apiKey)
    }
    return terminal.has(connection.testStatus) ? credentials.renew(connection.id) : credentials.token(connection.id)
  }

  const probed = (connection: Connection, more: Partial<Candidate> = {}): Effect.Effect<ProbeResult> =>
    CredentialKind.isExchanged(CredentialKind.kindOf(connection, builtin.byId.get(connection.provider) ?? null))
      ? Effect.matchEffect(tokenOf(connection), {
        onFailure: (failure) => Effect.succeed(TokenRefusal.probeResult(failure)),
        onSuccess: (token) => probe.probe({ ...candidateWith(connection, token.value), ...more })
      })
      : probe.probe({ ...candidateOf(connection), ...more })

  const run = Effect.fnUntraced(function*(connection: Connection) {
    const result = yield* probed(connection)
    const testedAt = new Date(yield* Clock.currentTimeMillis).toISOString()
    yield* store.patch(connection.id, marks(connection, result, testedAt))
    return {
      provider: shownProvider(configuration.current(), connection.provider),
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
    probe: probed,
    test: (connection) => Effect.tap(run(connection), () => configuration.reload),
    testAll: (connections) => Effect.tap(Effect.forEach(connections, run, { concurrency: PARALLEL }), () => configuration.reload)
  })
})

export const layer = Layer.effect(ConnectionTests, make)
