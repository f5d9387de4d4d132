/** What needs somebody, worst first: from what the gateway says of its connections, breakers, budgets, ledger and nodes. Pure. */
import type { Answer } from "../../api/contract.ts"
import { money, percent } from "../../format/numbers.ts"
import type { Tone } from "../../parts/Status.tsx"
import { type Connection, stateOf } from "../providers/state.ts"
import type { Screen } from "../../app/screens.ts"

export interface Matter {
  readonly id: string
  readonly tone: Extract<Tone, "bad" | "warn" | "info">
  readonly word: string
  readonly what: string
  readonly why: string
  /** When it heals by itself, if that is known. */
  readonly until: string | null
  /** Nobody needs to act. */
  readonly heals: boolean
  readonly since: string | null
  readonly to: Screen["path"]
}

export interface Seen {
  readonly connections?: ReadonlyArray<Connection> | undefined
  readonly resilience?: Answer<"GET /api/resilience"> | undefined
  /** When that was read, ms since the epoch by the gateway's clock: breakers tell what is left. */
  readonly readAt: number
  readonly lockouts?: Answer<"GET /api/resilience/model-cooldowns"> | undefined
  readonly budgets?: Answer<"GET /api/usage/budget"> | undefined
  readonly ledger?: Answer<"GET /api/usage/reconciliation"> | undefined
  readonly nodes?: Answer<"GET /api/nodes"> | undefined
  readonly expiring?: Answer<"GET /api/providers/expiration"> | undefined
  readonly webhooks?: Answer<"GET /api/webhooks"> | undefined
  readonly configFile?: Answer<"GET /api/config-file"> | undefined
}

/** A budget is told of from this share on. */
const NEAR = 0.8
const LEDGER_LATE_MS = 60_000

const order: Readonly<Record<Matter["tone"], number>> = { bad: 0, warn: 1, info: 2 }

const text = (value: unknown): string => typeof value === "string" ? value : ""

const ofConnections = (connections: ReadonlyArray<Connection>, now: number): ReadonlyArray<Matter> => connections.flatMap((connection): ReadonlyArray<Matter> => {
  const { tone, until, word } = stateOf(connection, now)
  if (tone !== "bad" && tone !== "warn" && tone !== "info") return []
  return [{
    id: `connection ${connection.id}`, tone, word, what: `Connection ${connection.name} of ${connection.provider}`,
    why: connection.lastError ?? (until === null ? "Test it, or give it another key." : "The provider refused a call."), until, heals: until !== null, since: connection.lastErrorAt, to: "/providers"
  }]
})

const ofBreakers = (breakers: Answer<"GET /api/resilience">["breakers"], readAt: number): ReadonlyArray<Matter> => breakers.flatMap((breaker): ReadonlyArray<Matter> => breaker.state === "closed" ? [] : [{
  id: `breaker ${breaker.provider} ${breaker.model ?? ""}`, tone: breaker.state === "open" ? "bad" : "warn", word: breaker.state === "open" ? "Open" : breaker.state === "half-open" ? "Trying" : "Degraded",
  what: `Breaker of ${breaker.provider}${breaker.model === null ? "" : `, model ${breaker.model}`}`, why: `${breaker.failures} failures in a row`,
  heals: true, until: breaker.retryAfterMs > 0 ? new Date(readAt + breaker.retryAfterMs).toISOString() : null, since: breaker.lastFailure, to: "/resilience"
}])

const ofBudgets = (answer: Answer<"GET /api/usage/budget">): ReadonlyArray<Matter> => ("budgets" in answer ? answer.budgets : [answer]).flatMap((budget): ReadonlyArray<Matter> => {
  const used = budget.activeLimitUsd === 0 ? 0 : budget.totalCostPeriod / budget.activeLimitUsd
  if (budget.budgetCheck.allowed && used < NEAR) return []
  return [{
    id: `budget ${budget.apiKeyId}`, tone: budget.budgetCheck.allowed ? "warn" : "bad", word: budget.budgetCheck.allowed ? "Near its end" : "Used up", what: `Budget of ${budget.apiKeyName ?? budget.apiKeyId}`,
    why: `${money(budget.totalCostPeriod)} of ${money(budget.activeLimitUsd)} (${percent(used)})`, until: budget.nextResetAt, heals: true, since: null, to: "/keys"
  }]
})

const ofLedger = ({ gap, lastError, oldestPendingMs }: Answer<"GET /api/usage/reconciliation">): ReadonlyArray<Matter> => {
  if (gap !== 0) return [{ id: "ledger gap", tone: "bad", word: "Gap", what: `The ledger lacks ${gap} attempts`, why: lastError ?? "Started and settled attempts do not agree.", until: null, heals: false, since: null, to: "/usage" }]
  if (oldestPendingMs < LEDGER_LATE_MS) return []
  return [{ id: "ledger late", tone: "warn", word: "Late", what: "Rows of the ledger wait for the database", why: lastError ?? "They are in the journal on disk.", until: null, heals: false, since: null, to: "/usage" }]
}

const ofNodes = ({ nodes }: Answer<"GET /api/nodes">): ReadonlyArray<Matter> => nodes.filter(({ status }) => status === "silent").map((node) => ({
  id: `node ${node.id}`, tone: "bad", word: "Silent", what: `Node ${node.id} on ${node.host}`, why: "No heartbeat. It is dead, paused or cut off.", until: null, heals: false, since: node.lastSeenAt, to: "/nodes"
}))

const ofTokens = ({ connections }: Answer<"GET /api/providers/expiration">): ReadonlyArray<Matter> => connections.map((row): Matter => ({
  id: `expires ${text(row["id"])}`, tone: row["expired"] === true ? "bad" : "warn", word: row["expired"] === true ? "Expired" : "Expires", what: `Credential ${text(row["name"])} of ${text(row["provider"])}`,
  why: row["expired"] === true ? "Sign in again, or give it another key." : "It ends within seven days.", until: null, heals: false, since: text(row["expiresAt"]) || null, to: "/providers"
}))

/** Those that were switched off by their failures, and those on the way there. */
const ofWebhooks = ({ webhooks }: Answer<"GET /api/webhooks">): ReadonlyArray<Matter> => webhooks.flatMap((hook): ReadonlyArray<Matter> => hook.failure_count === 0 ? [] : [{
  id: `webhook ${hook.id}`, tone: hook.enabled ? "warn" : "bad", word: hook.enabled ? "Fails" : "Switched off", what: `Webhook ${hook.description === null || hook.description === "" ? hook.url : hook.description}`,
  why: `${hook.failure_count} deliveries in a row failed${hook.last_status === null ? "" : `, the last with ${hook.last_status}`}.`, until: null, heals: hook.enabled, since: hook.last_triggered_at, to: "/webhooks"
}])

/** A file that could not be read, and entries that were refused. */
const ofConfigFile = ({ last }: Answer<"GET /api/config-file">): ReadonlyArray<Matter> => {
  if (last === null) return []
  const matter = { what: `Configuration file ${last.file}`, until: null, heals: false, since: last.at, to: "/settings" } as const
  if (last.error !== null) return [{ ...matter, id: "config file", tone: "bad", word: "Not applied", why: last.error }]
  return last.entries.flatMap(({ kind, message, name }): ReadonlyArray<Matter> => message === null ? [] : [{ ...matter, id: `config file ${kind} ${name}`, tone: "warn", word: "Refused", why: `${kind} ${name}: ${message}` }])
}

export const matters = (seen: Seen, now: number): ReadonlyArray<Matter> => [
  ...ofConnections(seen.connections ?? [], now),
  ...ofBreakers(seen.resilience?.breakers ?? [], seen.readAt),
  ...(seen.lockouts?.items ?? []).map((lockout): Matter => ({
    id: `lockout ${lockout.provider} ${lockout.model} ${lockout.connectionId ?? ""}`, tone: "info", word: "Locked out", what: `${lockout.provider}/${lockout.model}`, why: lockout.reason, until: lockout.until, heals: true, since: null, to: "/resilience"
  })),
  ...(seen.budgets === undefined ? [] : ofBudgets(seen.budgets)),
  ...(seen.ledger === undefined ? [] : ofLedger(seen.ledger)),
  ...(seen.nodes === undefined ? [] : ofNodes(seen.nodes)),
  ...(seen.expiring === undefined ? [] : ofTokens(seen.expiring)),
  ...(seen.webhooks === undefined ? [] : ofWebhooks(seen.webhooks)),
  ...(seen.configFile === undefined ? [] : ofConfigFile(seen.configFile))
].sort((a, b) => order[a.tone] - order[b.tone])
