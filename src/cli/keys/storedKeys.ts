/** The key desk on the stores, by the same service that answers `/api/keys`: the same rules, the same audit entries. */
import { randomUUID } from "node:crypto"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import { nodeIdOf } from "#src/platform/configuration/nodeId.ts"
import type { Loaded } from "#src/cli/environment.ts"
import * as Records from "#src/cli/commands/records.ts"
import * as AloneFeed from "#src/platform/cluster/AloneFeed.ts"
import * as RecordLocks from "#src/platform/cluster/recordLocks.ts"
import * as CachedKeys from "#src/features/keys/CachedKeys.ts"
import * as EffectiveFlags from "#src/platform/configuration/EffectiveFlags.ts"
import * as StoredConfiguration from "#src/platform/configuration/StoredConfiguration.ts"
import * as Audit from "#src/management/audit/Audit.ts"
import * as KeyDevices from "#src/features/keys/KeyDevices.ts"
import * as ManagedKeys from "#src/features/keys/ManagedKeys.ts"
import { view } from "#src/features/keys/http.ts"
import { ManagementOptions } from "#src/management/ManagementOptions.ts"
import type { KeyDesk } from "./KeyDesk.ts"

const services = (settings: Loaded) =>
  ManagedKeys.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(
      Audit.layer,
      KeyDevices.layer,
      CachedKeys.layer({ lookUpMs: settings.lookUpMs }),
      EffectiveFlags.layer(settings.environment).pipe(
        Layer.provideMerge(StoredConfiguration.layer({ simulatorUrl: null, simulatorMode: "never" }))
      )
    )),
    Layer.provideMerge(Layer.succeed(ManagementOptions, {
      machineId: nodeIdOf(settings), jwtSecret: null, cookieSecure: false, initialPassword: null, publicUrl: "", port: settings.port, lookUpMs: settings.lookUpMs, modelListsEveryMs: 0
    })),
    Layer.provideMerge(SecureRandom.layerWebCrypto),
    // A running gateway on the same server sees the change in the log of changes.
    Layer.provideMerge(AloneFeed.layerFeed),
    Layer.provideMerge(RecordLocks.layerOf(settings)),
    Layer.provideMerge(Records.stores(settings))
  )

const call = () => ManagementCall.of({
  requestId: randomUUID(), caller: { kind: "local" }, ip: null, loopback: true, secure: true, userAgent: null
})

/** Opens the stores for as long as `use` runs. */
export const withStoredKeys = <A, E>(settings: Loaded, use: (desk: KeyDesk) => Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const configuration = yield* Configuration
    const managed = yield* ManagedKeys.ManagedKeys
    const store = yield* KeyStore
    const asCall = Effect.provideService(ManagementCall, call())
    return yield* use({
      create: (name, policy) =>
        Effect.map(asCall(managed.create(name, policy)), ({ key, raw }) => ({ id: key.id, name: key.name, key: raw })),
      list: (limit, offset) => Effect.map(store.list(limit, offset), ({ keys }) => keys.map((key) => view(key, configuration.current()))),
      remove: (id) => asCall(managed.remove(id))
    })
  }).pipe(Effect.provide(services(settings)))
