/**
 * Every lasting sealed value of the database and how it is bound to its place; `make` seals the stale ones anew. Bodies of calls are not
 * among them: they are many, and kept for hours.
 *
 * One transaction with the rows locked: a crash leaves all of them as they were, and a write that waits for the lock
 * is sealed with the current key anyway.
 */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"
import { SealBroken, Secrets } from "#actors/ports/Secrets.ts"
import { secretFields } from "#schemas/records/Connection.ts"
import { proxySecrets } from "#schemas/egress/Proxy.ts"
import { columnOf } from "./Table.ts"
import { stored } from "./text.ts"

export const connectionContext = (id: string, field: typeof secretFields[number]): string => `connection:${stored(id)}:${field}`
export const apiKeyContext = (id: string): string => `apiKey:${stored(id)}:sealedKey`
/** Sealed fields of a webhook. */
export const webhookFields = ["url", "secret", "metadata"] as const
export const webhookContext = (id: string, field: typeof webhookFields[number]): string => `webhook:${stored(id)}:${field}`
/** A receiver of an agent task's changes. */
export const pushConfigContext = (taskId: string, id: string): string => `a2aPush:${stored(taskId)}:${stored(id)}`
/** Where an MCP server is, with its credentials. */
export const mcpServerContext = (id: string): string => `mcpServer:${stored(id)}`
/** A credential of an outbound proxy. */
export const proxyContext = (id: string, field: typeof proxySecrets[number]): string => `proxy:${stored(id)}:${field}`
/** Where a list of outbound proxies is. */
export const proxySubscriptionContext = (id: string): string => `proxySubscription:${stored(id)}`
export const documentContext = (key: string): string => `document:secret:${stored(key)}`

/** Seals again what another key sealed; answers how many rows were rewritten. */
export const make = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets

  const again = (sealed: unknown, context: string): Effect.Effect<string | null, SealBroken> =>
    Effect.try({
      try: () => typeof sealed === "string" && secrets.isStale(sealed) ? secrets.seal(secrets.openUnsafe(sealed, context), context) : null,
      catch: (error) => error instanceof SealBroken ? error : new SealBroken({ keyId: "", message: String(error) })
    })

  const connections = Effect.gen(function*() {
    const columns = secretFields.map(columnOf)
    const rows = yield* sql<Record<string, unknown>>`SELECT id, ${sql.csv(columns)} FROM connections ORDER BY id FOR UPDATE`
    let count = 0
    for (const row of rows) {
      const id = String(row["id"])
      const changed: Record<string, unknown> = {}
      for (const field of secretFields) {
        const fresh = yield* again(row[columnOf(field)], connectionContext(id, field))
        if (fresh !== null) changed[columnOf(field)] = fresh
      }
      if (Object.keys(changed).length === 0) continue
      yield* sql`UPDATE connections SET ${sql.update(changed)} WHERE id = ${id}`
      count++
    }
    return count
  })

  const apiKeys = Effect.gen(function*() {
    const rows = yield* sql<{ readonly id: string; readonly sealed_key: string }>`
      SELECT id, sealed_key FROM api_keys WHERE sealed_key IS NOT NULL ORDER BY id FOR UPDATE`
    let count = 0
    for (const row of rows) {
      const fresh = yield* again(row.sealed_key, apiKeyContext(row.id))
      if (fresh === null) continue
      yield* sql`UPDATE api_keys SET sealed_key = ${fresh} WHERE id = ${row.id}`
      count++
    }
    return count
  })

  const webhooks = Effect.gen(function*() {
    const rows = yield* sql<Record<string, unknown>>`SELECT id, ${sql.csv(webhookFields)} FROM webhooks ORDER BY id FOR UPDATE`
    let count = 0
    for (const row of rows) {
      const id = String(row["id"])
      const changed: Record<string, unknown> = {}
      for (const field of webhookFields) {
        const fresh = yield* again(row[field], webhookContext(id, field))
        if (fresh !== null) changed[field] = fresh
      }
      if (Object.keys(changed).length === 0) continue
      yield* sql`UPDATE webhooks SET ${sql.update(changed)} WHERE id = ${id}`
      count++
    }
    return count
  })

  const documents = Effect.gen(function*() {
    const rows = yield* sql<{ readonly key: string; readonly value: unknown }>`
      SELECT key, value FROM documents WHERE kind = 'secret' ORDER BY key FOR UPDATE`
    let count = 0
    for (const row of rows) {
      const fresh = yield* again(row.value, documentContext(row.key))
      if (fresh === null) continue
      yield* sql`UPDATE documents SET value = ${JSON.stringify(fresh)} WHERE kind = 'secret' AND key = ${row.key}`
      count++
    }
    return count
  })

  const pushConfigs = Effect.gen(function*() {
    const rows = yield* sql<{ readonly task_id: string; readonly id: string; readonly receiver: string }>`
      SELECT task_id, id, receiver FROM a2a_push_configs ORDER BY task_id, id FOR UPDATE`
    let count = 0
    for (const row of rows) {
      const fresh = yield* again(row.receiver, pushConfigContext(row.task_id, row.id))
      if (fresh === null) continue
      yield* sql`UPDATE a2a_push_configs SET receiver = ${fresh} WHERE task_id = ${row.task_id} AND id = ${row.id}`
      count++
    }
    return count
  })

  const mcpServers = Effect.gen(function*() {
    const rows = yield* sql<{ readonly id: string; readonly address: string }>`SELECT id, address FROM mcp_servers ORDER BY id FOR UPDATE`
    let count = 0
    for (const row of rows) {
      const fresh = yield* again(row.address, mcpServerContext(row.id))
      if (fresh === null) continue
      yield* sql`UPDATE mcp_servers SET address = ${fresh} WHERE id = ${row.id}`
      count++
    }
    return count
  })

  const proxies = Effect.gen(function*() {
    const rows = yield* sql<Record<string, unknown>>`SELECT id, ${sql.csv(proxySecrets)} FROM proxies ORDER BY id FOR UPDATE`
    let count = 0
    for (const row of rows) {
      const id = String(row["id"])
      const changed: Record<string, unknown> = {}
      for (const field of proxySecrets) {
        const fresh = yield* again(row[field], proxyContext(id, field))
        if (fresh !== null) changed[field] = fresh
      }
      if (Object.keys(changed).length === 0) continue
      yield* sql`UPDATE proxies SET ${sql.update(changed)} WHERE id = ${id}`
      count++
    }
    return count
  })

  const proxySubscriptions = Effect.gen(function*() {
    const rows = yield* sql<{ readonly id: string; readonly url: string }>`SELECT id, url FROM proxy_subscriptions ORDER BY id FOR UPDATE`
    let count = 0
    for (const row of rows) {
      const fresh = yield* again(row.url, proxySubscriptionContext(row.id))
      if (fresh === null) continue
      yield* sql`UPDATE proxy_subscriptions SET url = ${fresh} WHERE id = ${row.id}`
      count++
    }
    return count
  })

  return sql.withTransaction(
    Effect.map(Effect.all([connections, apiKeys, webhooks, documents, pushConfigs, mcpServers, proxies, proxySubscriptions]), (counts) => counts.reduce((sum, count) => sum + count, 0))
  )
})
