/** Keeps what a sign-in brought: a new connection, or new tokens of a known one. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import type { SignInRequest, SignedIn } from "#src/features/oauth/ports/SignIns.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as ConnectionRecord from "#src/features/providers/ports/connectionRecord.ts"
import { Connections } from "#src/features/providers/ports/Connections.ts"
import * as Destination from "#src/features/providers/ports/destination.ts"

type Done<A> = Effect.Effect<A, Refusal.Refusal | StoreError, ManagementCall>

export interface Wanted {
  readonly name?: string
  readonly connectionId?: string
  readonly providerSpecificData?: Connection["providerSpecificData"]
}

export class SignedInConnections extends Context.Service<SignedInConnections, {
  /** Checks the purpose of a sign-in before it starts. `provider` is a registry id. */
  readonly prepare: (provider: string, wanted: Wanted) => Done<Pick<SignInRequest, "purpose" | "values">>
  /** Stores the tokens; answers the connection's id. */
  readonly keep: (signedIn: SignedIn) => Done<string>
}>()("gateway/http/SignedInConnections") {}

const gone = Refusal.notFound("Connection not found")

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const connections = yield* Connections
  const random = yield* SecureRandom.SecureRandom
  const store = yield* ConnectionStore

  const known = Effect.fnUntraced(function*(provider: string, id: string) {
    const connection = yield* connections.get(id)
    if (connection.provider !== provider || connection.authType !== "oauth") {
      return yield* Effect.fail(Refusal.invalidField("connectionId", `Is no sign-in of provider ${provider}`))
    }
    return connection
  })

  const add = Effect.fnUntraced(function*({ fields, provider, purpose }: SignedIn, now: string) {
    const connection: Connection = {
      ...ConnectionRecord.make({
        id: yield* random.uuidV4(), provider, name: purpose.name ?? fields.email ?? fields.displayName ?? `${provider} sign-in`, apiKey: null,
        priority: 1, globalPriority: null, defaultModel: null, testStatus: "active",
        providerSpecificData: ConnectionRecord.mergeData({}, purpose.providerSpecificData), now
      }),
      ...fields,
      authType: "oauth"
    }
    yield* connections.store(connection)
    return connection.id
  })

  /** A sign-in that brought no new refresh token leaves the stored one: some vendors give it only once. */
  const renew = Effect.fnUntraced(function*(id: string, { fields, provider, purpose }: SignedIn, now: string) {
    const { accessToken, email, displayName, idToken, refreshToken, ...rest } = fields
    // Read inside the commit: one writer at a time, so that an operator's change of providerSpecificData is kept.
    const current = yield* configuration.commit(Effect.gen(function*() {
      const current = yield* known(provider, id)
      const written = yield* store.renew(id, {
        accessToken,
        ...(refreshToken === null ? {} : { refreshToken }),
        ...(idToken === null ? {} : { idToken })
      }, {
        ...rest,
        ...(email === null ? {} : { email }),
        ...(displayName === null ? {} : { displayName }),
        ...(purpose.name === null ? {} : { name: purpose.name }),
        providerSpecificData: ConnectionRecord.mergeData(current.providerSpecificData, purpose.providerSpecificData),
        testStatus: "active",
        ...ConnectionRecord.noError,
        updatedAt: now
      })
      return written ? current : yield* Effect.fail(gone)
    }))
    yield* audit.note({
      action: "provider.credentials.updated", target: id, resourceType: "provider", details: { provider, name: current.name, changed: ["sign-in"] }
    })
    return id
  })

  return SignedInConnections.of({
    prepare: Effect.fn("SignedInConnections.prepare")(function*(provider, wanted) {
      const current = wanted.connectionId === undefined ? null : yield* known(provider, wanted.connectionId)
      yield* connections.checkData(provider, wanted.providerSpecificData, current?.providerSpecificData ?? {})
      const given = wanted.providerSpecificData ?? {}
      const values = ConnectionRecord.mergeData(current?.providerSpecificData ?? {}, given)
      if (current !== null) yield* Destination.refuseOther(current, { ...current, providerSpecificData: values }, configuration.current())
      return {
        values,
        purpose: { connectionId: current?.id ?? null, name: wanted.name ?? null, providerSpecificData: given }
      }
    }),
    keep: Effect.fn("SignedInConnections.keep")(function*(signedIn) {
      const now = new Date(yield* Clock.currentTimeMillis).toISOString()
      return yield* (signedIn.purpose.connectionId === null ? add(signedIn, now) : renew(signedIn.purpose.connectionId, signedIn, now))
    })
  })
})

export const layer = Layer.effect(SignedInConnections, make)
