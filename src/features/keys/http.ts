import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import type * as Schema from "effect/Schema"
import { Configuration, shownModel, type Snapshot } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { KeyDevices } from "#src/inference/ports/KeyDevices.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import * as Acting from "./acting.ts"
import { type KeyView, KeysGroup } from "./api.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import { refuseInert } from "#src/management/acting.ts"
import { answer } from "#src/management/answer.ts"
import { ManagedKeys } from "./ManagedKeys.ts"
import { ownerOf, refuseOwned } from "#src/management/ownership/ownership.ts"
import * as Surface from "#src/management/Surface.ts"

const PAGE = 100

const identity = (key: ApiKey) => ({
  id: key.id, name: key.name, machineId: key.machineId, issuerId: key.issuerId, keyPrefix: key.keyPrefix,
  createdAt: key.createdAt, updatedAt: key.updatedAt, lastUsedAt: key.lastUsedAt, revokedAt: key.revokedAt,
  ...key.policy
})

/** An issued key is bound to a node by id and by prefix: of the two, replies show the prefix. */
const shown = <A extends Pick<KeyView, "allowedModels" | "blockedModels">>(key: A, snapshot: Snapshot): A => ({
  ...key,
  allowedModels: [...new Set(key.allowedModels.map((model) => shownModel(snapshot, model)))],
  blockedModels: [...new Set(key.blockedModels.map((model) => shownModel(snapshot, model)))]
})

const limitsOf = ({ policy }: ApiKey) => ({
  usageLimitEnabled: policy.usageLimitEnabled,
  dailyUsageLimitUsd: policy.dailyUsageLimitUsd,
  weeklyUsageLimitUsd: policy.weeklyUsageLimitUsd
})

const changedFields = (key: KeyView, names: ReadonlyArray<string>): Record<string, Schema.Json> => {
  const fields = key as unknown as Record<string, Schema.Json>
  return Object.fromEntries(names.map((name) => [name, fields[name] ?? null]))
}

/** Of its value the first eight characters, `****` and the last four. */
export const view = (key: ApiKey, snapshot: Snapshot): KeyView => shown({ ...identity(key), owner: ownerOf(snapshot, "key", key.id), key: `${key.keyPrefix}****${key.keySuffix}` }, snapshot)

export const layer = HttpApiBuilder.group(Surface.make(KeysGroup), "keys", Effect.fn(function*(handlers) {
  const configuration = yield* Configuration
  const devices = yield* KeyDevices
  const flags = yield* Flags
  const managed = yield* ManagedKeys
  const store = yield* KeyStore
  const viewOf = (key: ApiKey): KeyView => view(key, configuration.current())
  const owned = (id: string) => refuseOwned(configuration.current(), "key", id)
  return handlers.handleAll({
    list: ({ query }) => answer(Effect.map(store.list(query.limit ?? PAGE, query.offset ?? 0, query.search), ({ keys, total }) => ({
      keys: keys.map(viewOf), total, allowKeyReveal: flags.isOn("ALLOW_API_KEY_REVEAL")
    }))),
    create: ({ payload: { key: own, name, ...input } }) => answer(Effect.andThen(
      refuseInert(Acting.apiKey, input), Effect.map(managed.create(name, input, null, own), ({ key, raw }) => ({ ...viewOf(key), key: raw }))
    )),
    get: ({ params }) => answer(Effect.map(managed.get(params.id), viewOf)),
    update: ({ params, payload: { key: own, name, ...input } }) => answer(Effect.gen(function*() {
      yield* owned(params.id)
      yield* refuseInert(Acting.apiKey, input)
      const key = yield* managed.change(params.id, name, input, own)
      return { message: "Key updated", ...changedFields(viewOf(key), Object.keys(input).concat(name === undefined ? [] : ["name"], own === undefined ? [] : ["key"])) }
    })),
    remove: ({ params }) => answer(Effect.as(Effect.andThen(owned(params.id), managed.remove(params.id)), { message: "Key deleted" })),
    reveal: ({ params }) => answer(Effect.map(managed.reveal(params.id), (key) => ({ key }))),
    regenerate: ({ params }) => answer(Effect.map(Effect.andThen(owned(params.id), managed.regenerate(params.id)), ({ key, raw }) => ({ id: key.id, key: raw }))),
    devices: ({ params }) => answer(Effect.map(managed.get(params.id), (key) => {
      const seen = devices.list(key.id)
      return { keyId: key.id, name: key.name, count: seen.length, devices: seen }
    })),
    usageLimits: ({ params }) => answer(Effect.map(managed.get(params.id), limitsOf)),
    setUsageLimits: ({ params, payload }) => answer(Effect.map(Effect.andThen(owned(params.id), managed.change(params.id, undefined, payload)), limitsOf))
  })
}))
