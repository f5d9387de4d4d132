/** Renames a node's prefix wherever the stored configuration names it; runs inside the commit that changes the node. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Limits } from "#actors/limits/ports/Limits.ts"
import { RegisteredKeyStore, TokenLimitStore } from "#actors/limits/ports/LimitRecords.ts"
import type { Snapshot } from "#actors/ports/Configuration.ts"
import { Keys } from "#actors/ports/Keys.ts"
import { ComboMappingStore, ComboStore, CustomModelStore, DocumentStore, KeyStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { keyOf, type RecordKind } from "#schemas/FileOwned.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as PrefixNames from "./prefixNames.ts"

/** Keys read at once. */
const page = 500

export const make = Effect.gen(function*() {
  const combos = yield* ComboStore
  const customModels = yield* CustomModelStore
  const documents = yield* DocumentStore
  const keyStore = yield* KeyStore
  const keys = yield* Keys
  const mappings = yield* ComboMappingStore
  const registered = yield* RegisteredKeyStore
  const tokenLimits = yield* TokenLimitStore
  // A command line beside a running gateway counts nothing itself.
  const limits = Option.getOrNull(yield* Effect.serviceOption(Limits))

  const allKeys = Effect.gen(function*() {
    const found: Array<ApiKey> = []
    for (;;) {
      const { keys, total } = yield* keyStore.list(page, found.length)
      found.push(...keys)
      if (keys.length === 0 || found.length >= total) return found
    }
  })

  const refuseOwned = ({ fileOwned }: Snapshot, kind: RecordKind, named: ReadonlyArray<{ readonly id: string; readonly name: string }>) => {
    const owned = named.find(({ id }) => fileOwned.has(keyOf(kind, id)))
    return owned === undefined ? Effect.void : Effect.fail(Refusal.conflict(
      `The ${kind} '${owned.name}' names this prefix and is declared in ${fileOwned.get(keyOf(kind, owned.id))?.file}: declare it without the prefix first`,
      { code: "owned_by_file", details: [{ field: "prefix", message: `Named by the ${kind} '${owned.name}'` }] }
    ))
  }

  return {
    /** Answers what was renamed, for the audit log: `combo house`, `key web`, `setting taskRouting`. */
    rename: Effect.fn("PrefixRenaming.rename")(function*(snapshot: Snapshot, renaming: PrefixNames.Renaming, at: string) {
      const renamed: Array<string> = []
      const changedCombos = snapshot.combos.map((combo) => [combo, PrefixNames.combo(renaming, combo)] as const).filter(([a, b]) => a !== b)
      yield* refuseOwned(snapshot, "combo", changedCombos.map(([combo]) => combo))
      for (const [, combo] of changedCombos) {
        yield* combos.replace({ ...combo, updatedAt: at })
        renamed.push(`combo ${combo.name}`)
      }
      for (const mapping of snapshot.comboMappings) {
        const pattern = PrefixNames.pattern(renaming, mapping.pattern)
        if (pattern === mapping.pattern) continue
        yield* mappings.replace({ ...mapping, pattern, updatedAt: at })
        renamed.push(`mapping ${pattern}`)
      }
      for (const model of snapshot.customModels) {
        if (model.provider !== renaming.from) continue
        yield* customModels.remove(model.provider, model.modelId)
        yield* customModels.upsert({ ...model, provider: renaming.to })
        renamed.push(`model ${model.modelId}`)
      }
      for (const kind of PrefixNames.documentKinds) {
        for (const [key, value] of yield* documents.list(kind)) {
          const next = PrefixNames.document(renaming, kind, key, value)
          if (next === value) continue
          yield* documents.put(kind, key, next)
          renamed.push(`${kind} ${key}`)
        }
      }
      const changedKeys = (yield* allKeys).map((key) => [key, PrefixNames.policy(renaming, key.policy)] as const).filter(([key, policy]) => key.policy !== policy)
      yield* refuseOwned(snapshot, "key", changedKeys.map(([key]) => key))
      for (const [key, policy] of changedKeys) {
        // A change of the key that came in between has a later moment than the one that was read.
        const updatedAt = at > key.updatedAt ? at : new Date(Date.parse(key.updatedAt) + 1).toISOString()
        if (!(yield* keyStore.replace({ ...key, policy, updatedAt }, key.updatedAt))) {
          return yield* Effect.fail(Refusal.conflict(`The key '${key.name}' was changed at the same time: repeat the change`))
        }
        renamed.push(`key ${key.name}`)
      }
      for (const limit of yield* tokenLimits.list) {
        if (limit.scopeType === "global") continue
        const scopeValue = limit.scopeType === "provider" ? PrefixNames.provider(renaming, limit.scopeValue) : PrefixNames.model(renaming, limit.scopeValue)
        if (scopeValue === limit.scopeValue) continue
        yield* tokenLimits.replace({ ...limit, scopeValue, updatedAt: at })
        renamed.push(`token limit ${limit.id}`)
      }
      if (yield* registered.renameProvider(renaming.from, renaming.to)) renamed.push("issued keys")
      return { renamed, keys: changedKeys.map(([key]) => key.id) }
    }),
    /** What is in memory beside the snapshot, once the commit is through. */
    settled: (ids: ReadonlyArray<string>) => Effect.suspend(() => {
      for (const id of ids) keys.forget(id)
      return limits === null ? Effect.void : limits.reload
    })
  }
})
