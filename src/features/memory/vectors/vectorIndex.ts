/** What operators see and do of the vectors of memories. */
import * as Effect from "effect/Effect"
import { Configuration } from "#actors/ports/Configuration.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { knownProvider } from "#src/management/knownProvider.ts"
import { catalogView } from "#src/routing/models/catalogView.ts"
import { managementCatalog } from "#src/routing/models/modelCatalog.ts"
import { KeyMemories } from "#src/features/memory/KeyMemories.ts"
import * as ModelCalls from "#src/features/memory/models/ModelCalls.ts"
import { MemoryStore } from "#src/features/memory/ports/MemoryStore.ts"
import { MemoryVectors } from "./MemoryVectors.ts"

/** Keys that are read at once. */
const PAGE = 1_000

const off = Refusal.conflict("No model embeds entries: set embeddingSource with PUT /api/settings/memory, and memoryEnabled", { code: "EMBEDDING_OFF" })

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const known = yield* KeyMemories
  const store = yield* MemoryStore
  const ownerOf = yield* ModelCalls.owners
  const vectors = yield* MemoryVectors

  const providers = () => Object.entries(managementCatalog(catalogView(configuration.current()))).flatMap(([id, { active, models, provider }]) => {
    const embedding = active ? models.filter(({ type }) => type === "embedding").map((model) => ({ id: model.id, name: model.name })) : []
    return embedding.length === 0 ? [] : [{ id, name: provider, models: embedding }]
  })

  /** Whether requests may ask for it: an alias, or a model of a known provider. */
  const isModel = (source: string): boolean => {
    const snapshot = configuration.current()
    return source === "auto" || snapshot.aliases.has(source) || knownProvider(snapshot, source.slice(0, Math.max(0, source.indexOf("/")))) !== null
  }

  const status = (source: string) => {
    const { last, model, paused, queued } = vectors.status()
    return { source, active: model !== null, queued, paused, last }
  }

  /** The vector of a question of a preview; null where none is to be had in time. */
  const asked = Effect.fnUntraced(function*(apiKeyId: string, question: string) {
    const peeked = vectors.peek(apiKeyId, question)
    if (peeked !== undefined) return peeked
    const owner = yield* ownerOf(apiKeyId)
    return owner === null ? null : yield* vectors.vectorOf(owner, question)
  })

  const queue = (apiKeyId: string): number => {
    vectors.resume(apiKeyId)
    known.changed(apiKeyId)
    return vectors.want(apiKeyId) ? 1 : 0
  }

  const all = Effect.gen(function*() {
    let queued = 0
    let after: string | null = null
    for (;;) {
      const owners: ReadonlyArray<string> = yield* store.owners(after, PAGE)
      for (const owner of owners) queued += queue(owner)
      after = owners.at(-1) ?? null
      if (owners.length < PAGE) return queued
    }
  })

  const reindex = Effect.fn("MemoryVectors.reindex")(function*(apiKeyId: string | undefined) {
    const model = vectors.model()
    if (model === null) return yield* Effect.fail(off)
    const removed = yield* store.removeVectors(apiKeyId)
    const queued = apiKeyId === undefined ? yield* all : queue(apiKeyId)
    yield* audit.note({ action: "memory.reindexed", target: apiKeyId ?? null, resourceType: "memory", details: { model, removed, queued } })
    return { success: true as const, model, removed, queued }
  })

  return { asked, isModel, providers, reindex, status }
})
