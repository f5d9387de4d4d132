/**
 * The record stores: one small port per table, durable and dull. Ids and times come from the caller, so that a store
 * never invents anything. The features implement them over `src/platform/postgres`, for Postgres and embedded PGlite; `test/suites` holds one
 * suite each.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { AuditEntry } from "#schemas/records/AuditEntry.ts"
import type { Combo, ComboMapping } from "#schemas/records/Combo.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { CustomModel } from "#schemas/records/CustomModel.ts"
import type { Proxy, ProxyAssignment, ProxyScope } from "#schemas/egress/Proxy.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import type { AccessToken, Session } from "#schemas/records/Session.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"

type Op<A> = Effect.Effect<A, StoreError>

/** Connections; secrets are sealed on the way in and Redacted on the way out. `list` orders by provider, priority, createdAt. */
export class ConnectionStore extends Context.Service<ConnectionStore, {
  readonly list: Op<ReadonlyArray<Connection>>
  readonly get: (id: string) => Op<Connection | null>
  readonly insert: (connection: Connection) => Op<void>
  /** Replaces the whole record; false when the id is unknown. */
  readonly replace: (connection: Connection) => Op<boolean>
  /** Changes only the named non-secret columns (health marks of the hot path); false when the id is unknown. */
  readonly patch: (id: string, fields: Partial<Omit<Connection, "id" | "apiKey" | "accessToken" | "refreshToken" | "idToken">>) => Op<boolean>
  /** Changes the named token columns, sealed, and other columns with them; the rest of the record stands. False when the id is unknown. */
  readonly renew: (
    id: string,
    secrets: Partial<Pick<Connection, "accessToken" | "refreshToken" | "idToken">>,
    fields: Partial<Omit<Connection, "id" | "apiKey" | "accessToken" | "refreshToken" | "idToken">>
  ) => Op<boolean>
  readonly remove: (id: string) => Op<boolean>
  readonly removeByProvider: (provider: string) => Op<number>
  /** Re-seals every secret with the current master key; answers how many rows were rewritten (`gateway rekey`). */
  readonly reseal: Op<number>
}>()("gateway/ports/ConnectionStore") {}

/** Provider nodes; `conflict` when the prefix is taken. */
export class NodeStore extends Context.Service<NodeStore, {
  readonly list: Op<ReadonlyArray<ProviderNode>>
  readonly insert: (node: ProviderNode) => Op<void>
  readonly replace: (node: ProviderNode) => Op<boolean>
  readonly remove: (id: string) => Op<boolean>
}>()("gateway/ports/NodeStore") {}

export class CustomModelStore extends Context.Service<CustomModelStore, {
  readonly list: Op<ReadonlyArray<CustomModel>>
  readonly upsert: (model: CustomModel) => Op<void>
  readonly remove: (provider: string, modelId: string) => Op<boolean>
  readonly removeAll: (provider: string) => Op<number>
}>()("gateway/ports/CustomModelStore") {}

/** Combos; `conflict` when the name is taken. `list` orders by sortOrder, then name. */
export class ComboStore extends Context.Service<ComboStore, {
  readonly list: Op<ReadonlyArray<Combo>>
  readonly insert: (combo: Combo) => Op<void>
  readonly replace: (combo: Combo) => Op<boolean>
  /** Sets sortOrder to the place in the list (from 0), all at once; answers how many combos were there. */
  readonly reorder: (ids: ReadonlyArray<string>) => Op<number>
  readonly remove: (id: string) => Op<boolean>
}>()("gateway/ports/ComboStore") {}

/** Patterns of model ids; `list` orders as they are asked: highest priority, then oldest. */
export class ComboMappingStore extends Context.Service<ComboMappingStore, {
  readonly list: Op<ReadonlyArray<ComboMapping>>
  readonly insert: (mapping: ComboMapping) => Op<void>
  readonly replace: (mapping: ComboMapping) => Op<boolean>
  readonly remove: (id: string) => Op<boolean>
  readonly removeByCombo: (comboId: string) => Op<number>
}>()("gateway/ports/ComboMappingStore") {}

/** Outbound proxies and their assignments; credentials are sealed on the way in and Redacted on the way out. `list` orders by name, then id. */
export class ProxyStore extends Context.Service<ProxyStore, {
  readonly list: Op<ReadonlyArray<Proxy>>
  readonly insert: (proxy: Proxy) => Op<void>
  readonly replace: (proxy: Proxy) => Op<boolean>
  /** Its assignments go with it. */
  readonly remove: (id: string) => Op<boolean>
  /** By scope, then id of the scope. */
  readonly assignments: Op<ReadonlyArray<ProxyAssignment>>
  /** In the place of the scope's assignment before it. */
  readonly assign: (assignment: ProxyAssignment) => Op<void>
  readonly unassign: (scope: ProxyScope, scopeId: string) => Op<boolean>
}>()("gateway/ports/ProxyStore") {}

/** API keys by hash; the raw value is never seen here. */
export class KeyStore extends Context.Service<KeyStore, {
  readonly findByHash: (keyHash: string) => Op<ApiKey | null>
  readonly get: (id: string) => Op<ApiKey | null>
  /** Those that exist, in no order. */
  readonly some: (ids: ReadonlyArray<string>) => Op<ReadonlyArray<ApiKey>>
  /** Newest first; `search`: a part of the name, the id or the masked value, in any case. `total` counts all that fit. */
  readonly list: (limit: number, offset: number, search?: string) => Op<{ readonly keys: ReadonlyArray<ApiKey>; readonly total: number }>
  readonly insert: (key: ApiKey) => Op<void>
  /** Only while the stored key is as it was at `seen`, its `updatedAt`; false when it is not, or gone. */
  readonly replace: (key: ApiKey, seen: string) => Op<boolean>
  readonly touch: (id: string, lastUsedAt: string) => Op<void>
  readonly remove: (id: string) => Op<boolean>
}>()("gateway/ports/KeyStore") {}

/**
 * Named JSON documents of one kind: aliases, settings, flag overrides, pricing overrides. `value` is any JSON value.
 * Kinds in use: `alias` (value = model id), `setting`, `flag` (value = string), `pricing` (key = `<provider>/<model>`),
 * `password` (key = `management`), `secret`, `breaker` (key = provider: the breakers that are open), `catalogue-state`, `catalogue-entries` and
 * `catalogue-turn` (what was read from public lists of models),
 * `tunnel` and `tunnel-state` (key = `<node>/<program>`: what the node runs, and how that stands),
 * `eval-suite`, `eval-run` and `eval-score` (key = id of the suite or run).
 */
export class DocumentStore extends Context.Service<DocumentStore, {
  readonly list: (kind: string) => Op<ReadonlyMap<string, unknown>>
  readonly get: (kind: string, key: string) => Op<unknown>
  readonly put: (kind: string, key: string, value: unknown) => Op<void>
  /** Writes only when the key is absent; answers the value that stands afterwards. */
  readonly putIfAbsent: (kind: string, key: string, value: unknown) => Op<unknown>
  readonly remove: (kind: string, key: string) => Op<boolean>
  readonly clear: (kind: string) => Op<number>
}>()("gateway/ports/DocumentStore") {}

export class SessionStore extends Context.Service<SessionStore, {
  readonly insert: (session: Session) => Op<void>
  readonly get: (id: string) => Op<Session | null>
  readonly extend: (id: string, expiresAt: number) => Op<void>
  readonly revoke: (id: string, revokedAt: number) => Op<boolean>
  /** Revokes every session but `kept`; answers how many were live. */
  readonly revokeOthers: (kept: string | null, revokedAt: number) => Op<number>
  readonly removeExpired: (now: number) => Op<number>
}>()("gateway/ports/SessionStore") {}

export class AccessTokenStore extends Context.Service<AccessTokenStore, {
  readonly findByHash: (tokenHash: string) => Op<AccessToken | null>
  readonly list: Op<ReadonlyArray<AccessToken>>
  readonly insert: (token: AccessToken) => Op<void>
  readonly touch: (id: string, lastUsedAt: string) => Op<void>
  readonly remove: (id: string) => Op<boolean>
  /** Removes every token that the password stands behind but `kept`; answers how many. */
  readonly removeByPassword: (kept: string | null) => Op<number>
}>()("gateway/ports/AccessTokenStore") {}

export interface AuditQuery {
  readonly action?: string
  readonly actor?: string
  readonly target?: string
  readonly resourceType?: string
  readonly status?: string
  readonly requestId?: string
  readonly from?: string
  readonly to?: string
  readonly limit: number
  readonly offset: number
}

export class AuditStore extends Context.Service<AuditStore, {
  readonly append: (entry: AuditEntry) => Op<void>
  /** Newest first. */
  readonly query: (query: AuditQuery) => Op<{ readonly entries: ReadonlyArray<AuditEntry>; readonly total: number }>
  /** Removes entries of before `time` (ms since the epoch); answers how many went. */
  readonly removeBefore: (time: number) => Op<number>
}>()("gateway/ports/AuditStore") {}
