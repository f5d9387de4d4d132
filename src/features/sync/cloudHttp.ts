import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Redacted from "effect/Redacted"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import * as ConnectionRecord from "#src/features/providers/ports/connectionRecord.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"
import * as Surface from "#src/management/Surface.ts"
import { CloudGroup, type CredentialsUpdate } from "./api.ts"
import * as Clients from "./clients.ts"
import * as Models from "./models.ts"

/** The columns beside the tokens. A ban or an empty balance is no matter of tokens and stays. */
const around = ({ testStatus }: Connection, { accessToken, expiresIn }: CredentialsUpdate["credentials"], now: number) => {
  const expiresAt = expiresIn === undefined ? null : new Date(now + expiresIn * 1000).toISOString()
  return {
    ...(accessToken === undefined && expiresIn === undefined ? {} : { expiresIn: expiresIn ?? null, expiresAt, tokenExpiresAt: expiresAt }),
    ...(testStatus === "expired" ? { testStatus: "active" as const, ...ConnectionRecord.noError } : {}),
    updatedAt: new Date(now).toISOString()
  }
}

export const layer = HttpApiBuilder.group(Surface.make(CloudGroup), "cloud", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const connections = yield* ConnectionStore
  const flags = yield* Flags

  const auth = Effect.map(Clients.asker, (key) => {
    const snapshot = configuration.current()
    const resolve = Models.resolver(snapshot, flags, key)
    return {
      connections: Clients.connectionsFor(key, snapshot).map((connection) => Clients.factsOf(connection, snapshot)),
      // An operator reads aliases that lead nowhere, too.
      modelAliases: Object.fromEntries([...snapshot.aliases].filter(([alias]) => key === null || resolve(alias) !== null))
    }
  })

  const resolve = Effect.fnUntraced(function*(alias: string) {
    const key = yield* Clients.asker
    const snapshot = configuration.current()
    const found = Models.resolver(snapshot, flags, key)(alias)
    // A key does not learn of models that it may not use.
    if (found === null) return yield* Effect.fail(Refusal.notFound(`No model is known as '${alias.slice(0, 120)}'`, { code: "model_not_found" }))
    return { alias, provider: shownProvider(snapshot, found.provider), model: found.model }
  })

  const signInOf = Effect.fnUntraced(function*({ connectionId, provider: name }: CredentialsUpdate) {
    const snapshot = configuration.current()
    const provider = knownProvider(snapshot, name)
    if (provider === null) return yield* Effect.fail(Refusal.invalidField("provider", unknownProvider(name)))
    const found = snapshot.connections.filter((one) => one.provider === provider && one.authType === "oauth" && (connectionId === undefined || one.id === connectionId))
    const [only] = found
    if (only === undefined) return yield* Effect.fail(Refusal.notFound(`Provider ${shownProvider(snapshot, provider)} has no such sign-in`))
    if (found.length > 1) {
      return yield* Effect.fail(Refusal.conflict(`Provider ${shownProvider(snapshot, provider)} has ${found.length} sign-ins: name one by connectionId`, {
        details: [{ field: "connectionId", message: "Required" }]
      }))
    }
    return only.id
  })

  const update = Effect.fn("Cloud.updateCredentials")(function*(input: CredentialsUpdate) {
    const { accessToken, expiresIn, refreshToken } = input.credentials
    if (accessToken === undefined && refreshToken === undefined) return yield* Effect.fail(Refusal.invalidField("credentials", "Expected accessToken or refreshToken"))
    if (accessToken === undefined && expiresIn !== undefined) return yield* Effect.fail(Refusal.invalidField("credentials.expiresIn", "Only with accessToken"))
    const id = yield* signInOf(input)
    const now = yield* Clock.currentTimeMillis
    const gone = Effect.fail(Refusal.notFound("Connection not found"))
    // Read inside the commit: one writer at a time, so that a renewal that runs is not half overwritten.
    const after = yield* configuration.commit(Effect.gen(function*() {
      const current = yield* connections.get(id)
      if (current === null) return yield* gone
      const fields = around(current, input.credentials, now)
      const written = yield* connections.renew(id, {
        ...(accessToken === undefined ? {} : { accessToken: Redacted.make(accessToken) }),
        ...(refreshToken === undefined ? {} : { refreshToken: Redacted.make(refreshToken) })
      }, fields)
      return written ? { ...current, ...fields } : yield* gone
    }))
    const provider = shownProvider(configuration.current(), after.provider)
    yield* audit.note({
      action: "provider.credentials.updated", target: id, resourceType: "provider",
      details: { provider, name: after.name, changed: Object.keys(input.credentials) }
    })
    return { success: true as const, provider, connectionId: id, expiresAt: after.expiresAt }
  })

  return handlers.handleAll({
    auth: () => answer(auth),
    resolve: ({ payload }) => answer(resolve(payload.alias)),
    updateCredentials: ({ payload }) => answer(update(payload))
  })
}))
