/** Fast doubles of the record stores: same answers, same conflicts, no durability. They pass `test/suites` like Postgres does. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { LeaseRecords } from "#actors/lease/LeaseRecords.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import {
  AccessTokenStore, AuditStore, ComboMappingStore, ComboStore, ConnectionStore, CustomModelStore, DocumentStore, KeyStore, NodeStore, SessionStore
} from "#actors/ports/Stores.ts"
import { QuotaStore } from "#src/features/quotas/ports/QuotaStore.ts"
import { type ConnectionUse, type KeyUse, type UsageFilter, type UsageGroup, UsageStore, type UsageTotals } from "#actors/ports/UsageStore.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { AuditEntry } from "#schemas/records/AuditEntry.ts"
import type { Combo, ComboMapping } from "#schemas/records/Combo.ts"
import { type Connection, secretFields } from "#schemas/records/Connection.ts"
import type { CustomModel } from "#schemas/records/CustomModel.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import type { LeaseChange } from "#schemas/protocols/Lease.ts"
import type { QuotaSnapshot } from "#schemas/records/QuotaSnapshot.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import type { AccessToken, Session } from "#schemas/records/Session.ts"
import { layer as limitRecords } from "./memoryLimitRecords.ts"
import { calls } from "./memoryCalls.ts"
import { layer as proxies } from "./memoryProxies.ts"
import { statistics } from "./memoryStatistics.ts"
import { plusUnits } from "./plusUnits.ts"

const taken = (store: string, field: string) => new StoreError({ store, operation: "write", reason: "conflict", message: `${field} is taken` })

const orderOf = (a: string | number, b: string | number): number => a < b ? -1 : a > b ? 1 : 0
const json = <A>(value: A): A => value === undefined ? value : JSON.parse(JSON.stringify(value)) as A
const later = (known: string | null, next: string): string => known !== null && known > next ? known : next

/** Text as a database keeps it: no NUL, no lone surrogate. */
const asText = (text: string): string => text.replaceAll("\0", "\uFFFD").toWellFormed()

const tidyValue = (value: unknown): unknown =>
  typeof value === "string" ? asText(value) : value === null || typeof value !== "object" || Redacted.isRedacted(value) ? value === 0 ? 0 : value : json(value)

/** A record as a database gives it back. */
const tidy = <A extends object>(record: A): A =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, tidyValue(value)])) as A

/** Records by id, with one more unique column at most. */
const table = <A extends { readonly id: string }>(store: string, unique?: readonly [column: string, of: (record: A) => string]) => {
  const rows = new Map<string, A>()
  const clash = (record: A) => unique !== undefined &&
    Array.from(rows.values()).some((other) => other.id !== record.id && unique[1](other) === unique[1](record))
  return {
    rows,
    all: () => Array.from(rows.values()),
    get: (id: string) => rows.get(asText(id)) ?? null,
    insert: (given: A) => Effect.suspend(() => {
      const record = tidy(given)
      if (rows.has(record.id)) return Effect.fail(taken(store, "id"))
      if (clash(record)) return Effect.fail(taken(store, unique?.[0] ?? "id"))
      rows.set(record.id, record)
      return Effect.void
    }),
    replace: (given: A) => Effect.suspend(() => {
      const record = tidy(given)
      if (!rows.has(record.id)) return Effect.succeed(false)
      if (clash(record)) return Effect.fail(taken(store, unique?.[0] ?? "id"))
      rows.set(record.id, record)
      return Effect.succeed(true)
    }),
    remove: (id: string) => Effect.sync(() => rows.delete(asText(id)))
  }
}

const connections = Layer.sync(ConnectionStore, () => {
  const own = table<Connection>("connections")
  const guarded: ReadonlySet<string> = new Set(["id", ...secretFields])
  return {
    list: Effect.sync(() => own.all().sort((a, b) =>
      orderOf(a.provider, b.provider) || a.priority - b.priority || orderOf(a.createdAt, b.createdAt) || orderOf(a.id, b.id))),
    get: (id) => Effect.sync(() => own.get(id)),
    insert: own.insert,
    replace: own.replace,
    patch: (id, fields) => Effect.sync(() => {
      const known = own.rows.get(id)
      if (known === undefined) return false
      own.rows.set(id, { ...known, ...Object.fromEntries(Object.entries(fields).filter(([name]) => !guarded.has(name))) })
      return true
    }),
    renew: (id, tokens, fields) => Effect.sync(() => {
      const known = own.rows.get(id)
      if (known === undefined) return false
      const named = Object.entries(tokens).filter(([name, value]) => value !== undefined && name !== "id" && name !== "apiKey")
      own.rows.set(id, {
        ...known, ...Object.fromEntries(Object.entries(fields).filter(([name]) => !guarded.has(name))), ...Object.fromEntries(named)
      })
      return true
    }),
    remove: own.remove,
    removeByProvider: (provider) => Effect.sync(() => {
      const mine = own.all().filter((row) => row.provider === provider)
      for (const row of mine) own.rows.delete(row.id)
      return mine.length
    }),
    reseal: Effect.succeed(0)
  }
})

const nodes = Layer.sync(NodeStore, () => {
  const own = table<ProviderNode>("provider_nodes", ["prefix", (node) => node.prefix])
  return {
    list: Effect.sync(() => own.all().sort((a, b) => orderOf(a.createdAt, b.createdAt) || orderOf(a.id, b.id))),
    insert: own.insert, replace: own.replace, remove: own.remove
  }
})

const customModels = Layer.sync(CustomModelStore, () => {
  const rows = new Map<string, CustomModel>()
  const keyOf = (provider: string, modelId: string) => JSON.stringify([provider, modelId])
  return {
    list: Effect.sync(() => Array.from(rows.values()).sort((a, b) => orderOf(a.provider, b.provider) || orderOf(a.modelId, b.modelId))),
    upsert: (model) => Effect.sync(() => {
      const kept = tidy(model)
      rows.set(keyOf(kept.provider, kept.modelId), kept)
    }),
    remove: (provider, modelId) => Effect.sync(() => rows.delete(keyOf(asText(provider), asText(modelId)))),
    removeAll: (provider) => Effect.sync(() => {
      const mine = Array.from(rows.values()).filter((row) => row.provider === asText(provider))
      for (const row of mine) rows.delete(keyOf(row.provider, row.modelId))
      return mine.length
    })
  }
})

const combos = Layer.sync(ComboStore, () => {
  const own = table<Combo>("combos", ["name", (combo) => combo.name])
  return {
    list: Effect.sync(() => own.all().sort((a, b) => a.sortOrder - b.sortOrder || orderOf(a.name, b.name) || orderOf(a.id, b.id))),
    insert: own.insert,
    replace: own.replace,
    reorder: (ids) => Effect.sync(() => ids.filter((id, place) => {
      const known = own.get(id)
      if (known !== null) own.rows.set(known.id, { ...known, sortOrder: place })
      return known !== null
    }).length),
    remove: own.remove
  }
})

const comboMappings = Layer.sync(ComboMappingStore, () => {
  const own = table<ComboMapping>("combo_mappings")
  return {
    list: Effect.sync(() => own.all().sort((a, b) => b.priority - a.priority || orderOf(a.createdAt, b.createdAt) || orderOf(a.id, b.id))),
    insert: own.insert,
    replace: own.replace,
    remove: own.remove,
    removeByCombo: (comboId) => Effect.sync(() => {
      const mine = own.all().filter((row) => row.comboId === asText(comboId))
      for (const row of mine) own.rows.delete(row.id)
      return mine.length
    })
  }
})

const keys = Layer.sync(KeyStore, () => {
  const own = table<ApiKey>("api_keys", ["key_hash", (key) => key.keyHash])
  return {
    findByHash: (hash) => Effect.sync(() => own.all().find((key) => key.keyHash === asText(hash)) ?? null),
    get: (id) => Effect.sync(() => own.get(id)),
    some: (ids) => Effect.sync(() => own.all().filter((key) => ids.some((id) => asText(id) === key.id))),
    list: (limit, offset, search = "") => Effect.sync(() => {
      const fits = ({ id, keyPrefix, keySuffix, name }: ApiKey): boolean => `${name} ${id} ${keyPrefix}****${keySuffix}`.toLowerCase().includes(search.toLowerCase())
      const sorted = own.all().filter(fits).sort((a, b) => orderOf(b.createdAt, a.createdAt) || orderOf(b.id, a.id))
      return { keys: sorted.slice(offset, offset + limit), total: sorted.length }
    }),
    insert: own.insert,
    replace: (key, seen) => Effect.suspend(() => own.get(key.id)?.updatedAt === seen ? own.replace(key) : Effect.succeed(false)),
    touch: (id, at) => Effect.sync(() => {
      const key = own.rows.get(id)
      if (key !== undefined) own.rows.set(id, { ...key, lastUsedAt: later(key.lastUsedAt, at) })
    }),
    remove: own.remove
  }
})

const documents = Layer.sync(DocumentStore, () => {
  const kinds = new Map<string, Map<string, unknown>>()
  const of = (kind: string) => {
    const known = kinds.get(kind) ?? new Map<string, unknown>()
    kinds.set(kind, known)
    return known
  }
  return {
    list: (kind) => Effect.sync(() => new Map(Array.from(of(kind)).sort(([a], [b]) => orderOf(a, b)))),
    get: (kind, key) => Effect.sync(() => of(kind).get(key)),
    put: (kind, key, value) => Effect.sync(() => {
      of(kind).set(key, json(value))
    }),
    putIfAbsent: (kind, key, value) => Effect.sync(() => {
      if (!of(kind).has(key)) of(kind).set(key, json(value))
      return of(kind).get(key)
    }),
    remove: (kind, key) => Effect.sync(() => of(kind).delete(key)),
    clear: (kind) => Effect.sync(() => {
      const count = of(kind).size
      kinds.delete(kind)
      return count
    })
  }
})

const sessions = Layer.sync(SessionStore, () => {
  const own = table<Session>("sessions")
  return {
    insert: own.insert,
    get: (id) => Effect.sync(() => own.get(id)),
    extend: (id, expiresAt) => Effect.sync(() => {
      const known = own.rows.get(id)
      if (known !== undefined && known.revokedAt === null && expiresAt > known.expiresAt) own.rows.set(id, { ...known, expiresAt })
    }),
    revoke: (id, revokedAt) => Effect.sync(() => {
      const known = own.rows.get(id)
      if (known === undefined || known.revokedAt !== null) return false
      own.rows.set(id, { ...known, revokedAt })
      return true
    }),
    revokeOthers: (kept, revokedAt) => Effect.sync(() => {
      const live = own.all().filter((row) => row.revokedAt === null && row.expiresAt > revokedAt && row.id !== kept)
      for (const row of live) own.rows.set(row.id, { ...row, revokedAt })
      return live.length
    }),
    removeExpired: (now) => Effect.sync(() => {
      const ended = own.all().filter((row) => row.expiresAt <= now)
      for (const row of ended) own.rows.delete(row.id)
      return ended.length
    })
  }
})

const accessTokens = Layer.sync(AccessTokenStore, () => {
  const own = table<AccessToken>("access_tokens", ["token_hash", (token) => token.tokenHash])
  return {
    findByHash: (hash) => Effect.sync(() => own.all().find((token) => token.tokenHash === asText(hash)) ?? null),
    list: Effect.sync(() => own.all().sort((a, b) => orderOf(b.createdAt, a.createdAt) || orderOf(b.id, a.id))),
    insert: own.insert,
    touch: (id, at) => Effect.sync(() => {
      const token = own.rows.get(id)
      if (token !== undefined) own.rows.set(id, { ...token, lastUsedAt: later(token.lastUsedAt, at) })
    }),
    remove: own.remove,
    removeByPassword: (kept) => Effect.sync(() => {
      const gone = own.all().filter((token) => token.byPassword && token.id !== kept)
      for (const token of gone) own.rows.delete(token.id)
      return gone.length
    })
  }
})

const audit = Layer.sync(AuditStore, () => {
  const own = table<AuditEntry>("audit_log")
  const fields = ["action", "actor", "target", "resourceType", "status", "requestId"] as const
  return {
    append: own.insert,
    query: (query) => Effect.sync(() => {
      const found = own.all().filter((entry) =>
        fields.every((name) => query[name] === undefined || entry[name] === query[name]) &&
        (query.from === undefined || Date.parse(entry.timestamp) >= Date.parse(query.from)) &&
        (query.to === undefined || Date.parse(entry.timestamp) <= Date.parse(query.to)))
        .reverse().sort((a, b) => Date.parse(b.timestamp) - Date.parse(a.timestamp))
      return { entries: found.slice(query.offset, query.offset + query.limit), total: found.length }
    }),
    removeBefore: (time) => Effect.sync(() => {
      const old = own.all().filter((entry) => Date.parse(entry.timestamp) < time)
      for (const { id } of old) own.rows.delete(id)
      return old.length
    })
  }
})

const quotas = Layer.sync(QuotaStore, () => {
  let rows: ReadonlyArray<QuotaSnapshot> = []
  const newestFirst = () => [...rows].reverse().sort((a, b) => b.createdAt - a.createdAt)
  return {
    insert: (given) => Effect.sync(() => {
      rows = [...rows, ...given.map(tidy)]
    }),
    latest: (now, since) => Effect.sync(() => {
      const newest = new Map<string, QuotaSnapshot>()
      for (const row of newestFirst()) {
        const key = JSON.stringify([row.connectionId, row.model, row.windowKey])
        if (row.createdAt >= since && !newest.has(key)) newest.set(key, row)
      }
      return [...newest.values()].filter(({ createdAt, nextResetAt, rawData }) => (nextResetAt ?? createdAt + (rawData.believedMs ?? -Infinity)) > now)
    }),
    history: ({ connectionId, limit = 10_000, since }) => Effect.sync(() => newestFirst()
      .filter((row) => row.createdAt >= since && (connectionId === undefined || row.connectionId === connectionId)).slice(0, limit)),
    removeBefore: (time) => Effect.sync(() => {
      const before = rows.length
      rows = rows.filter(({ createdAt }) => createdAt >= time)
      return before - rows.length
    }),
    removeHistory: Effect.sync(() => {
      const before = rows.length
      const newest = new Map(newestFirst().reverse().map((row) => [JSON.stringify([row.connectionId, row.model, row.windowKey]), row]))
      rows = rows.filter((row) => newest.get(JSON.stringify([row.connectionId, row.model, row.windowKey])) === row)
      return before - rows.length
    })
  }
})

const noTotals: UsageTotals = { requests: 0, promptTokens: 0, completionTokens: 0, units: null, cost: 0 }
const plus = (totals: UsageTotals, row: LedgerRow): UsageTotals => ({
  requests: totals.requests + 1,
  promptTokens: totals.promptTokens + row.tokensIn,
  completionTokens: totals.completionTokens + row.tokensOut,
  units: plusUnits(totals.units, row.units),
  cost: Math.round((totals.cost + row.costUsd) * 1e10) / 1e10
})

const leaseRecords = Layer.sync(LeaseRecords, () => {
  const generations = new Map<string, number>()
  const written: Array<LeaseChange> = []
  const nameOf = ({ at, kind, lease: { connection, generation, owner } }: LeaseChange) => `${owner} ${generation} ${kind} ${connection} ${at}`
  return {
    nextGeneration: (owner: string, atLeast: number) => Effect.sync(() => {
      const generation = Math.max(generations.get(owner) ?? 0, atLeast) + 1
      generations.set(owner, generation)
      return generation
    }),
    append: (changes: ReadonlyArray<LeaseChange>) => Effect.sync(() => {
      for (const change of changes) {
        if (!written.some((other) => nameOf(other) === nameOf(change))) written.unshift({ ...change, lease: { ...change.lease, keyPrint: "" } })
      }
    }),
    changes: ({ limit, owner }: { readonly owner?: string; readonly limit: number }) =>
      Effect.sync(() => written.filter(({ lease }) => owner === undefined || lease.owner === owner).slice(0, limit)),
    removeBefore: (time: number) => Effect.sync(() => {
      const kept = written.filter(({ at }) => at >= time)
      return written.splice(0, written.length, ...kept).length - kept.length
    })
  }
})

const usage = Layer.sync(UsageStore, () => {
  const rows = new Map<string, LedgerRow>()
  const matching = (filter: UsageFilter) => Array.from(rows.values()).filter((row) =>
    (filter.since === undefined || row.startedAt >= filter.since) && (filter.until === undefined || row.startedAt <= filter.until) &&
    (["provider", "model", "connectionId", "apiKeyId", "status", "requestId", "attemptId"] as const).every((name) => filter[name] === undefined || row[name] === filter[name]) &&
    (filter.finalOnly !== true || row.final))
    .sort((a, b) => b.startedAt - a.startedAt || orderOf(b.attemptId, a.attemptId))
  const dimensions = {
    provider: (row: LedgerRow) => ({ provider: row.provider }),
    model: (row: LedgerRow) => ({ provider: row.provider, model: row.model }),
    connection: (row: LedgerRow) => ({ provider: row.provider, connectionId: row.connectionId }),
    apiKey: (row: LedgerRow) => ({ apiKeyId: row.apiKeyId })
  }
  return {
    insert: (batch) => Effect.sync(() => {
      const before = rows.size
      for (const row of batch) if (!rows.has(row.attemptId)) rows.set(row.attemptId, row)
      return rows.size - before
    }),
    rows: (filter) => Effect.sync(() => matching(filter).slice(0, Math.min(filter.limit ?? 10_000, 10_000))),
    totals: (filter) => Effect.sync(() => matching(filter).reduce(plus, noTotals)),
    groupBy: (dimension, filter) => Effect.sync(() => {
      const groups = new Map<string, UsageGroup>()
      const empty = { ...noTotals, provider: null, model: null, connectionId: null, apiKeyId: null, apiKeyName: null, lastUsed: 0 }
      for (const row of matching(filter)) {
        const named = dimensions[dimension](row)
        const key = JSON.stringify(named)
        // Newest first: the first row's name is the one that holds.
        const known = groups.get(key) ?? { ...empty, ...named, apiKeyName: dimension === "apiKey" ? row.apiKeyName : null, lastUsed: row.startedAt }
        groups.set(key, { ...known, ...plus(known, row) })
      }
      return Array.from(groups.values()).sort((a, b) => b.requests - a.requests).slice(0, filter.limit)
    }),
    usedBy: (apiKeyId, since) => Effect.sync(() => {
      const uses = new Map<string, KeyUse>()
      for (const { costUsd, model, nodeId, provider, tokensIn, tokensOut } of matching({ apiKeyId, since })) {
        const name = JSON.stringify([nodeId, provider, model])
        const known = uses.get(name)
        uses.set(name, { nodeId, provider, model, tokens: (known?.tokens ?? 0) + tokensIn + tokensOut, costUsd: (known?.costUsd ?? 0) + costUsd })
      }
      return Array.from(uses.values())
    }),
    connectionUse: (connectionIds, since, slotMs) => Effect.sync(() => {
      const uses = new Map<string, ConnectionUse>()
      for (const { connectionId, startedAt, tokensIn, tokensOut } of matching({ since })) {
        if (connectionId === null || !connectionIds.includes(connectionId)) continue
        const begin = startedAt - startedAt % slotMs
        const known = uses.get(`${connectionId} ${begin}`)
        uses.set(`${connectionId} ${begin}`, {
          connectionId, begin, last: Math.max(known?.last ?? 0, startedAt), requests: (known?.requests ?? 0) + 1, tokens: (known?.tokens ?? 0) + tokensIn + tokensOut
        })
      }
      return Array.from(uses.values()).sort((a, b) => a.begin - b.begin || orderOf(a.connectionId, b.connectionId))
    }),
    lastMinutes: (now) => Effect.sync(() => Array.from({ length: 10 }, (_, index) => {
      const end = now - (9 - index) * 60_000
      return Array.from(rows.values()).filter((row) => row.startedAt > end - 60_000 && row.startedAt <= end).reduce(plus, noTotals)
    })),
    count: (nodeId) => Effect.sync(() => {
      const counts = new Map<string, number>()
      for (const row of rows.values()) {
        if (nodeId === undefined || row.nodeId === nodeId) counts.set(row.outcome, (counts.get(row.outcome) ?? 0) + 1)
      }
      return counts
    }),
    ...calls(() => matching({})),
    ...statistics(() => matching({})),
    removeBefore: (time) => Effect.sync(() => {
      const old = Array.from(rows.values()).filter((row) => row.startedAt < time)
      for (const row of old) rows.delete(row.attemptId)
      return old.length
    }),
    removeBut: (time, kept) => Effect.sync(() => {
      const since = new Map(kept.map((one) => [one.apiKeyId, one.since]))
      const old = Array.from(rows.values()).filter((row) => row.startedAt < time && !(row.startedAt >= (since.get(row.apiKeyId ?? "") ?? Infinity)))
      for (const row of old) rows.delete(row.attemptId)
      return old.length
    })
  }
})

export const layer = Layer.mergeAll(connections, nodes, customModels, combos, comboMappings, keys, leaseRecords, documents, sessions, accessTokens, audit, quotas, usage, limitRecords, proxies)
export { accessTokens, audit, comboMappings, combos, connections, customModels, documents, keys, leaseRecords, nodes, proxies, quotas, sessions, usage }
