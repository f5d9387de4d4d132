/**
 * Sealed values of rows. An archive under the master key has them as they are; one under a passphrase has them opened, inside what the
 * passphrase seals, so that a gateway with another master secret can seal them with its own.
 */
import * as Redacted from "effect/Redacted"
import type { Secrets } from "#actors/ports/Secrets.ts"
import { proxySecrets } from "#schemas/egress/Proxy.ts"
import { secretFields } from "#schemas/records/Connection.ts"
import * as Reseal from "#src/platform/postgres/Reseal.ts"
import { columnOf } from "#src/platform/postgres/Table.ts"
import type { Page } from "./BackupRecords.ts"

type Row = Readonly<Record<string, string | null>>

/** The sealed columns of a row, with what each is bound to. `isJson`: the envelope stands there as JSON text. */
interface SealedColumn {
  readonly column: string
  readonly context: string
  readonly isJson?: boolean
}

const idOf = (row: Row): string => row["id"] ?? ""

const byTable: Readonly<Record<string, (row: Row) => ReadonlyArray<SealedColumn>>> = {
  connections: (row) => secretFields.map((field) => ({ column: columnOf(field), context: Reseal.connectionContext(idOf(row), field) })),
  api_keys: (row) => [{ column: "sealed_key", context: Reseal.apiKeyContext(idOf(row)) }],
  webhooks: (row) => Reseal.webhookFields.map((field) => ({ column: field, context: Reseal.webhookContext(idOf(row), field) })),
  mcp_servers: (row) => [{ column: "address", context: Reseal.mcpServerContext(idOf(row)) }],
  proxies: (row) => proxySecrets.map((field) => ({ column: field, context: Reseal.proxyContext(idOf(row), field) })),
  proxy_subscriptions: (row) => [{ column: "url", context: Reseal.proxySubscriptionContext(idOf(row)) }],
  documents: (row) => row["kind"] === "secret" ? [{ column: "value", context: Reseal.documentContext(row["key"] ?? ""), isJson: true }] : []
}

const changed = ({ columns, rows, table }: Page, change: (value: string, context: string) => string): Page => {
  const columnsOf = byTable[table]
  if (columnsOf === undefined) return { table, columns, rows }
  return {
    table, columns,
    rows: rows.map((values) => {
      const row: Row = Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null]))
      const next = [...values]
      for (const { column, context, isJson } of columnsOf(row)) {
        const value = row[column]
        if (value === null || value === undefined) continue
        next[columns.indexOf(column)] = isJson === true ? JSON.stringify(change(String(JSON.parse(value)), context)) : change(value, context)
      }
      return next
    })
  }
}

/** Throws SealBroken where this gateway does not have the key of a value. */
export const opened = (secrets: Secrets["Service"], page: Page): Page =>
  changed(page, (value, context) => Redacted.value(secrets.openUnsafe(value, context)))

export const sealedAgain = (secrets: Secrets["Service"], page: Page): Page =>
  changed(page, (value, context) => secrets.seal(Redacted.make(value), context))

/** What a former master secret sealed is sealed with the current one. */
export const renewed = (secrets: Secrets["Service"], page: Page): Page =>
  changed(page, (value, context) => secrets.isStale(value) ? secrets.seal(secrets.openUnsafe(value, context), context) : value)

/** Throws SealBroken where a value cannot be opened. */
export const check = (secrets: Secrets["Service"], page: Page): void => {
  opened(secrets, page)
}
