/** The operator's side of a gateway under test: the management API over HTTP, as a script of an operator would use it. */
import { setTimeout as delay } from "node:timers/promises"
import type { CallLog } from "#src/features/usage/api.ts"
import type { Reconciliation } from "#actors/request/ports/Ledger.ts"
import * as Http from "./http.ts"

export const PASSWORD = "a long test password"

export interface NewNode {
  readonly prefix: string
  readonly baseUrl: string
  readonly name?: string
  readonly type?: string
  readonly apiType?: string
}

export interface NewConnection {
  readonly provider: string
  readonly apiKey: string
  readonly name?: string
  readonly priority?: number
  readonly providerSpecificData?: Record<string, unknown>
}

export interface Key {
  readonly id: string
  readonly key: string
}

/** Between two looks at a fact that only polling can see (ms). */
const lookMs = 20
const patienceMs = 45_000

/** Waits until a look finds what is wanted; fails with the last look. */
export const eventually = async <A>(look: () => Promise<A>, good: (seen: A) => boolean, what: string, withinMs = patienceMs): Promise<A> => {
  const deadline = Date.now() + withinMs
  for (;;) {
    const seen = await look()
    if (good(seen)) return seen
    if (Date.now() > deadline) throw new Error(`${what} did not happen within ${withinMs} ms; last seen: ${JSON.stringify(seen)?.slice(0, 2_000)}`)
    await delay(lookMs)
  }
}

export class Operator {
  private readonly url: () => string
  private cookie = ""
  /** Ids of the nodes made here, by prefix. */
  private readonly nodes = new Map<string, string>()

  constructor(url: () => string) {
    this.url = url
  }

  /** Signs in and keeps the session. */
  async login(password = PASSWORD): Promise<void> {
    const reply = await Http.send(this.url(), { path: "/api/auth/login", body: { password } })
    if (reply.status !== 200) throw new Error(`login answered ${reply.status}: ${reply.text}`)
    this.cookie = (reply.headers["set-cookie"] ?? "").split(";", 1)[0] ?? ""
  }

  async raw(method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Http.Reply> {
    return await Http.send(this.url(), { method, path, body, headers: { ...headers, cookie: this.cookie } })
  }

  async call<A>(method: string, path: string, body?: unknown): Promise<A> {
    const reply = await this.raw(method, path, body)
    if (reply.status >= 300) throw new Error(`${method} ${path} answered ${reply.status}: ${reply.text}`)
    return JSON.parse(reply.text) as A
  }

  /** Answers the node's id. A test that is tried again makes its node anew. */
  async createNode(node: NewNode): Promise<string> {
    const earlier = this.nodes.get(node.prefix)
    if (earlier !== undefined) await this.raw("DELETE", `/api/provider-nodes/${earlier}`)
    const { node: made } = await this.call<{ node: { id: string } }>("POST", "/api/provider-nodes", {
      type: "openai-compatible", apiType: "chat", name: node.prefix, ...node
    })
    this.nodes.set(node.prefix, made.id)
    return made.id
  }

  /** Answers the connection's id. */
  async createConnection(connection: NewConnection): Promise<string> {
    const { connection: made } = await this.call<{ connection: { id: string } }>("POST", "/api/providers", { name: "connection", ...connection })
    return made.id
  }

  changeConnection(id: string, change: Record<string, unknown>): Promise<unknown> {
    return this.call("PUT", `/api/providers/${id}`, change)
  }

  removeConnection(id: string): Promise<unknown> {
    return this.call("DELETE", `/api/providers/${id}`)
  }

  /** A key with a policy: fields that creation does not take are patched. */
  async createKey(name: string, policy: Record<string, unknown> = {}): Promise<Key> {
    const { id, key } = await this.call<Key>("POST", "/api/keys", { name })
    if (Object.keys(policy).length > 0) await this.changeKey(id, policy)
    return { id, key }
  }

  changeKey(id: string, policy: Record<string, unknown>): Promise<unknown> {
    return this.call("PATCH", `/api/keys/${id}`, policy)
  }

  setFlag(key: string, value: string): Promise<unknown> {
    return this.call("PUT", "/api/settings/feature-flags", { key, value })
  }

  /** No failure is remembered: breakers never open, connections never cool down. The lock after a 404 stays. */
  letFailuresPass(): Promise<unknown> {
    const breaker = { degradationThreshold: 999, failureThreshold: 1000 }
    const cooldown = { baseCooldownMs: 0, rateLimitCooldownMs: 0, useUpstreamRetryHints: false }
    const each = <A>(section: A) => ({ oauth: section, apikey: section, local: section })
    return this.call("PATCH", "/api/resilience", { providerBreaker: each(breaker), connectionCooldown: each(cooldown) })
  }

  clearFlags(): Promise<unknown> {
    return this.call("DELETE", "/api/settings/feature-flags")
  }

  price(provider: string, model: string, price: Readonly<Record<string, unknown>>): Promise<unknown> {
    return this.call("PATCH", "/api/pricing", { [provider]: { [model]: price } })
  }

  reconciliation(): Promise<Reconciliation & { readonly rows: Record<string, number> | null }> {
    return this.call("GET", "/api/usage/reconciliation")
  }

  /** Waits until nothing runs and every settled row is in the database. */
  settled(): Promise<Reconciliation> {
    return eventually(() => this.reconciliation(), (seen) => seen.live === 0 && seen.journaled === 0, "the ledger's rest")
  }

  callLogs(limit = 500): Promise<ReadonlyArray<CallLog>> {
    return this.call("GET", `/api/usage/call-logs?limit=${limit}`)
  }

  /** The rows of one request, first attempt first, once `count` of them are in the database. */
  async attempts(requestId: string, count = 1): Promise<ReadonlyArray<CallLog>> {
    const reply = await eventually(
      () => this.raw("GET", `/api/usage/call-logs/${encodeURIComponent(requestId)}`),
      (seen) => seen.status === 200 && (JSON.parse(seen.text) as { attempts: ReadonlyArray<CallLog> }).attempts.length >= count,
      `${count} rows of request ${requestId}`
    )
    return (JSON.parse(reply.text) as { attempts: ReadonlyArray<CallLog> }).attempts
  }
}
