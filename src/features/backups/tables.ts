/**
 * What a backup does with each table of the database. `test/postgres/backups.test.ts` fails for a table without a row here.
 *
 * `replaced`: what operators configure; a restore brings back all of it, and nothing else is left. `merged`: what happened; only full
 * archives have it, and a restore adds what is missing, so that nothing that was spent or done is forgotten. `left`: never in an archive.
 */
export interface ReplacedTable {
  readonly use: "replaced"
  /** Columns of its primary key, all of them text. */
  readonly key: readonly [string, ...ReadonlyArray<string>]
  /** Rows of other tables go with its rows: its rows are changed in place. */
  readonly isReferenced?: boolean
}

export interface MergedTable {
  readonly use: "merged"
  readonly key: readonly [string, ...ReadonlyArray<string>]
}

export interface LeftTable {
  readonly use: "left"
  readonly why: string
}

export type TableRule = ReplacedTable | MergedTable | LeftTable

const replaced = (...key: ReplacedTable["key"]): ReplacedTable => ({ use: "replaced", key })
const merged = (...key: MergedTable["key"]): MergedTable => ({ use: "merged", key })
const left = (why: string): LeftTable => ({ use: "left", why })

const ofClients = left("Clients keep it here for a time; its files or steps are outside the database.")
const ofNodes = left("It belongs to the nodes that run, not to what they were told.")
const copies = left("It is made again from what is asked.")

export const tables: Readonly<Record<string, TableRule>> = {
  connections: replaced("id"),
  provider_nodes: replaced("id"),
  custom_models: replaced("provider", "model_id"),
  documents: replaced("kind", "key"),
  api_keys: replaced("id"),
  access_tokens: replaced("id"),
  sync_tokens: replaced("id"),
  combos: replaced("id"),
  combo_mappings: replaced("id"),
  budgets: replaced("api_key_id"),
  token_limits: replaced("id"),
  registered_keys: replaced("id"),
  issue_limits: replaced("subject"),
  webhooks: { use: "replaced", key: ["id"], isReferenced: true },
  mcp_servers: replaced("id"),
  skills: replaced("id"),
  plugins: replaced("name"),
  proxies: { use: "replaced", key: ["id"], isReferenced: true },
  proxy_subscriptions: replaced("id"),
  proxy_assignments: replaced("scope", "scope_id"),
  memories: replaced("id"),

  usage: merged("attempt_id"),
  audit_log: merged("id"),
  skill_executions: merged("id"),

  cloud_tasks: merged("id"),

  a2a_tasks: ofClients,
  a2a_push_configs: ofClients,
  batches: ofClients,
  batch_lines: ofClients,
  call_bodies: ofClients,
  conversations: ofClients,
  conversation_items: ofClients,
  files: ofClients,
  responses: ofClients,

  cluster_nodes: ofNodes,
  gateway_migrations: ofNodes,
  lease_changes: ofNodes,
  lease_generations: left("A generation never comes again, so none is taken back."),
  memory_keys: ofNodes,
  record_changes: ofNodes,
  record_version: ofNodes,
  sessions: left("Who is signed in stays signed in."),
  webhook_deliveries: ofNodes,
  webhook_events: ofNodes,
  webhook_jobs: ofNodes,

  compression_batches: ofNodes,
  compression_hours: left("A sum cannot be merged with itself."),
  mcp_calls: left("Its rows have no key that is the same in two databases."),
  proxy_health: left("A sum cannot be merged with itself."),
  quota_snapshots: left("Vendors say it again."),
  response_cache: copies,
  memory_vectors: copies,
  search_batches: ofNodes,
  search_hours: left("A sum cannot be merged with itself.")
}

const named = (use: TableRule["use"]): ReadonlyArray<string> => Object.keys(tables).filter((name) => tables[name]?.use === use)

export const replacedTables = named("replaced")
export const mergedTables = named("merged")

/** Kinds of documents that are the state of this gateway, and neither backed up nor replaced. */
export const stateKinds = ["backup-schedule", "breaker", "cloud-sync", "catalogue-turn", "cluster", "config-file-turn", "files", "quota-told"] as const
/** Kinds of documents that a restore adds where there is none, and never replaces: the password of those who operate the gateway now. */
export const keptKinds = ["password"] as const
