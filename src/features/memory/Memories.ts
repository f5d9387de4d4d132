/**
 * Changes of what is remembered: what entries must fulfil, whose they are, and one change of a key's entries at a time over all nodes.
 * Each is in the audit log, by lengths only: what is remembered is private.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { RecordLocks } from "#actors/ports/RecordLocks.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { MemoryEntry } from "#schemas/memory/MemoryEntry.ts"
import { EnvironmentKeys } from "#src/inference/ports/EnvironmentKeys.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as BoundKey from "#src/management/authentication/boundKey.ts"
import type { MemoryChange, NewMemory } from "./api.ts"
import * as Bounds from "./bounds.ts"
import { KeyMemories } from "./KeyMemories.ts"
import { type MemoryFilter, MemoryStore } from "./ports/MemoryStore.ts"
import { tokensOf } from "./ranking/context.ts"
import { MemoryVectors } from "./vectors/MemoryVectors.ts"

type Done<A> = Effect.Effect<A, Refusal.Refusal | StoreError, ManagementCall>

export class Memories extends Context.Service<Memories, {
  /** The entry, unless it is another key's and the caller may see its own only. */
  readonly find: (id: string) => Done<MemoryEntry>
  /** The API key whose entries are meant: of a caller that may see its own only, that one. */
  readonly ownerOf: (given: string | undefined) => Done<string | undefined>
  /** Adds an entry, or takes the place of the one of its API key with its key. */
  readonly put: (input: NewMemory) => Done<MemoryEntry>
  readonly change: (id: string, input: MemoryChange) => Done<MemoryEntry>
  readonly remove: (id: string) => Done<MemoryEntry>
  /** Answers how many went. */
  readonly clear: (filter: Pick<MemoryFilter, "type" | "before"> & { readonly apiKeyId: string }) => Done<number>
}>()("gateway/features/memory/Memories") {}

const missing = Effect.fail(Refusal.notFound("Memory not found"))

const fits = (entry: MemoryEntry): Effect.Effect<void, Refusal.Refusal> => JSON.stringify(entry.metadata).length <= Bounds.METADATA
  ? Effect.void
  : Effect.fail(Refusal.invalidField("metadata", `Send at most ${Bounds.METADATA} characters of JSON`))

const make = Effect.gen(function*() {
  const audit = yield* Audit
  const environmentKeys = yield* EnvironmentKeys
  const keys = yield* KeyStore
  const known = yield* KeyMemories
  const random = yield* SecureRandom.SecureRandom
  const store = yield* MemoryStore
  const vectors = yield* MemoryVectors
  // The bounds of a key hold over all its entries.
  const locked = (yield* RecordLocks).of("memories")

  const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())

  const exists = (apiKeyId: string): Done<void> => Effect.gen(function*() {
    if (apiKeyId === "" || [...environmentKeys.values()].some(({ id }) => id === apiKeyId)) return
    if ((yield* keys.get(apiKeyId)) === null) yield* Effect.fail(Refusal.invalidField("apiKeyId", "No API key has this id: see GET /api/keys"))
  })

  const ownerOf: Memories["Service"]["ownerOf"] = (given) => BoundKey.ownerOf(given, "This API key may use what is remembered for itself only")

  const find: Memories["Service"]["find"] = Effect.fnUntraced(function*(id) {
    const entry = yield* store.get(id)
    const own = yield* BoundKey.boundTo
    return entry === null || (own !== null && entry.apiKeyId !== own) ? yield* missing : entry
  })

  /** Stores it where its key has room; `before`: the key of the one whose place it takes. */
  const stored = (entry: MemoryEntry, before: string): Done<MemoryEntry> => Effect.gen(function*() {
    const { characters, entries } = yield* store.weight(entry.apiKeyId, before)
    if (entries >= Bounds.ENTRIES) {
      return yield* Effect.fail(Refusal.conflict(`An API key has at most ${Bounds.ENTRIES} entries: remove some`, { code: "MEMORY_FULL" }))
    }
    if (characters + entry.key.length + entry.content.length > Bounds.CHARACTERS) {
      return yield* Effect.fail(Refusal.conflict(`The entries of an API key have at most ${Bounds.CHARACTERS} characters: remove or shorten some`, { code: "MEMORY_FULL" }))
    }
    yield* store.put(entry)
    return entry
  })

  const note = (action: string, { apiKeyId, content, id, type }: MemoryEntry) =>
    audit.note({ action, target: id, resourceType: "memory", details: { apiKeyId, type, characters: content.length } })

  const announced = (entry: MemoryEntry) => Effect.sync(() => {
    known.changed(entry.apiKeyId)
    vectors.want(entry.apiKeyId)
  })

  return Memories.of({
    find,
    ownerOf,
    put: Effect.fn("Memories.put")(function*(input) {
      const apiKeyId = (yield* ownerOf(input.apiKeyId)) ?? ""
      yield* exists(apiKeyId)
      const at = yield* now
      const id = yield* random.uuidV4()
      const said = { type: input.type ?? "factual", key: input.key, content: input.content } as const
      const draft: MemoryEntry = {
        id, apiKeyId, sessionId: input.sessionId ?? "", ...said, metadata: input.metadata ?? {}, createdAt: at, updatedAt: at,
        expiresAt: input.expiresAt === undefined || input.expiresAt === null ? null : new Date(Date.parse(input.expiresAt)).toISOString(), tokens: tokensOf(said)
      }
      yield* fits(draft)
      const entry = yield* Effect.tap(locked(Effect.gen(function*() {
        const before = yield* store.findByKey(apiKeyId, input.key)
        return yield* stored(before === null ? draft : { ...draft, id: before.id, createdAt: before.createdAt }, input.key)
      })), announced)
      yield* note("memory.stored", entry)
      return entry
    }),
    change: Effect.fn("Memories.change")(function*(id, input) {
      if (Object.keys(input).length === 0) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
      const at = yield* now
      const entry = yield* Effect.tap(locked(Effect.gen(function*() {
        const before = yield* find(id)
        const after: MemoryEntry = { ...before, ...input, updatedAt: at }
        yield* fits(after)
        return yield* stored({ ...after, tokens: tokensOf(after) }, before.key)
      })), announced)
      yield* note("memory.updated", entry)
      return entry
    }),
    remove: Effect.fn("Memories.remove")(function*(id) {
      const entry = yield* find(id)
      if (!(yield* store.remove(id))) return yield* missing
      yield* announced(entry)
      yield* note("memory.deleted", entry)
      return entry
    }),
    clear: Effect.fn("Memories.clear")(function*({ apiKeyId: given, before, type }) {
      const apiKeyId = (yield* ownerOf(given)) ?? given
      const deleted = yield* store.removeAll({ apiKeyId, type, before: before === undefined ? undefined : new Date(Date.parse(before)).toISOString() })
      known.changed(apiKeyId)
      yield* audit.note({ action: "memory.cleared", target: given, resourceType: "memory", details: { deleted, type: type ?? null } })
      return deleted
    })
  })
})

export const layer = Layer.effect(Memories, make)
