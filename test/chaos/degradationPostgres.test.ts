/**
 * A table: a Postgres that refuses, freezes or is slow x what is asked meanwhile. Known keys are served, unknown ones are refused with
 * 503 in time, nothing is changed, and each call has its row once the server is back.
 */
import * as Context from "effect/Context"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Ledger } from "#actors/request/ports/Ledger.ts"
import { codeOf, managedKey, Session } from "#test/features/leases/support.ts"
import { type Cluster, converged, findServers, startRemote } from "#test/support/cluster.ts"
import { contractOf, type Road } from "#test/support/faults.ts"
import type { InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { CREDENTIAL, messages } from "#test/support/lab.ts"
import { eventually, PASSWORD } from "#test/support/operator.ts"
import { watchLoop } from "./support.ts"

const { missing, postgres } = await findServers()
afterAll(postgres.stop)

/** What a shared machine may add to the declared latency (ms). */
const ADDED_MS = 1_500
/** Requests of strangers at the same time. */
const CROWD = 200
/** Delay of a slow server, each way (ms): a look-up of two exchanges is just within its second. */
const SLOW_MS = 100

describe.skipIf(missing !== null)("a Postgres that fails", { timeout: 180_000 }, () => {
  let road: Road
  let cluster: Cluster
  let close: () => Promise<void>
  let node: InProcess

  beforeAll(async () => {
    ({ close, cluster, road } = await startRemote(postgres, [{}]))
    node = cluster.nodes[0] as InProcess
    await node.operator.letFailuresPass()
  }, 180_000)
  afterAll(() => close())

  /** A server that says nothing was waited for once: from then on the unknown are refused at once, in their own words, however many they are. */
  const refusesAtOnce = async (name: string, unknown: string, known: string): Promise<void> => {
    const formats = [
      ["/v1/chat/completions", { model: `lab/${name}-unknown`, messages }, "error.code"],
      ["/v1/messages", { model: `lab/${name}-unknown`, messages, max_tokens: 4 }, "error.type"],
      ["/v1/responses", { model: `lab/${name}-unknown`, input: "x" }, "error.code"]
    ] as const
    const late = watchLoop()
    const began = performance.now()
    const replies = await Promise.all([
      ...formats.map(([path, body]) => Http.send(node.url, { path, body, headers: { authorization: `Bearer ${unknown}` } })),
      ...Array.from({ length: CROWD }, (_, index) => Http.send(node.url, {
        path: "/v1/chat/completions", headers: { authorization: `Bearer stranger-${index}` }, body: { model: `lab/${name}-unknown`, messages }
      }))
    ])
    const ms = performance.now() - began
    // Each of them would have waited a second.
    expect(ms).toBeLessThan(ADDED_MS + 2 * late())
    expect(new Set(replies.map(({ headers, status }) => `${status} ${headers["retry-after"]}`))).toEqual(new Set(["503 1"]))
    for (const [index, [path]] of formats.entries()) {
      const body = JSON.parse(replies[index]?.text ?? "") as { readonly type?: string; readonly error?: { readonly type?: string; readonly message?: string } }
      expect([path, body.type]).toEqual([path, path === "/v1/messages" ? "error" : undefined])
      expect(body.error?.message, path).toContain("key store")
    }
    expect((await Http.send(node.url, { path: "/v1/chat/completions", headers: { authorization: `Bearer ${known}` }, body: { model: `lab/${name}-limited`, messages, max_tokens: 4 } })).status).toBe(200)
    console.log(`Postgres ${name}: ${replies.length} strangers refused in ${Math.round(ms)} ms`)
  }

  it.each(["refused", "frozen"] as const)(
    "%s: what the table says is what happens, and no row is missing afterwards",
    async (name) => {
      const { operator } = node
      const model = (what: string) => `lab/${name}-${what}`
      const send = (what: string, headers: Readonly<Record<string, string>>, more: Readonly<Record<string, unknown>> = {}) =>
        Http.send(node.url, { path: "/v1/chat/completions", headers, body: { model: model(what), messages, max_tokens: 4, ...more } })
      const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

      const provider = await operator.createNode({ prefix: `held-${name}`, baseUrl: `${cluster.sim.url}/v1` })
      const leased = [await operator.createConnection({ provider, apiKey: CREDENTIAL }), await operator.createConnection({ provider, apiKey: `${CREDENTIAL}2` })]
      const managed = await managedKey(node, "managed", leased)
      const [known, unknown, limited] = [await operator.createKey("known"), await operator.createKey("unknown"), await operator.createKey("limited")]
      await operator.call("POST", "/api/usage/token-limits", { apiKeyId: limited.id, scopeType: "global", tokenLimit: 1_000_000 })
      await converged(node)
      const session = new Session(node, managed.key)
      const { generation } = await session.acquire(`held-${name}/m`)
      expect((await send("cached", bearer(known.key), { temperature: 0 })).status).toBe(200)
      // Its key is in memory, its limit was never asked for.
      const metered = await operator.createKey("metered")
      expect((await send("metered", bearer(metered.key))).status).toBe(200)
      await operator.call("POST", "/api/usage/token-limits", { apiKeyId: metered.id, scopeType: "global", tokenLimit: 1_000_000 })
      await converged(node)
      await eventually(() => send("limited", bearer(limited.key)), ({ status }) => status === 200, "a block of the limit")

      const worst: Record<string, number> = {}
      const declared = await contractOf(operator, `postgres-${name}`)
      const timed = async (feature: string, what: string, run: () => Promise<Http.Reply>): Promise<Http.Reply> => {
        const late = watchLoop()
        const began = performance.now()
        const reply = await run()
        const ms = performance.now() - began
        worst[what] = Math.max(worst[what] ?? 0, Math.round(ms))
        expect(ms, what).toBeLessThan((declared(feature).addedLatencyMs ?? 0) + ADDED_MS + 2 * late())
        return reply
      }
      const served = (what: string, run: () => Promise<Http.Reply>) => timed("inference", what, run)
      const refused = async (feature: string, what: string, run: () => Promise<Http.Reply>): Promise<void> => {
        const reply = await timed(feature, what, run)
        expect([what, reply.status], reply.text).toEqual([what, 503])
        expect(declared(feature).outcome).toBe("denied")
      }
      expect(["inference", "configuration", "response-cache", "idempotency", "ledger"].map((feature) => declared(feature).outcome))
        .toEqual(["admitted", "admitted", "admitted", "admitted", "queued"])
      await road.is(name)
      try {
        const needRecords = Promise.all([
          refused("api-keys", "an unknown key", () => send("unknown", bearer(unknown.key))),
          refused("api-keys", "a session", () => operator.raw("GET", "/api/keys")),
          refused("management", "a login", () => Http.send(node.url, { path: "/api/auth/login", body: { password: PASSWORD } })),
          refused("management", "a change", () => operator.raw("PUT", "/api/models/alias", { alias: `${name}-lost`, model: model("known") })),
          refused("limits", "an unknown limit", () => send("metered", bearer(metered.key))),
          refused("leases", "a new lease", () => new Session(node, managed.key).ask({ action: "acquire", model: `held-${name}/m` }))
        ])
        for (let i = 0; i < 10; i++) expect((await served("a known key", () => send("known", bearer(known.key)))).status).toBe(200)
        expect((await served("no key", () => send("known", {}))).status).toBe(200)
        expect((await served("a known limit", () => send("limited", bearer(limited.key)))).status).toBe(200)
        const hit = await served("a cached answer", () => send("cached", bearer(known.key), { temperature: 0 }))
        expect([hit.status, hit.headers["x-gateway-cache"]]).toEqual([200, "HIT"])
        const miss = await timed("response-cache", "an answer to be cached", () => send("miss", bearer(known.key), { temperature: 0 }))
        expect([miss.status, miss.headers["x-gateway-cache"]]).toEqual([200, "MISS"])
        const twice = { ...bearer(known.key), "idempotency-key": `${name}-k` }
        expect((await served("an idempotent call", () => send("twice", twice))).status).toBe(200)
        expect((await served("an idempotent call", () => send("twice", twice))).headers["x-gateway-idempotent"]).toBe("true")
        expect((await served("a leased call", () => Http.send(node.url, {
          path: "/v1/chat/completions", headers: session.headers(generation), body: { model: `held-${name}/${name}-leased`, messages }
        }))).status).toBe(200)
        expect((await served("readiness", () => Http.send(node.url, { path: "/api/health/ping" }))).status).toBe(200)
        const ledger = Context.get(node.services(), Ledger).reconciliation()
        expect(ledger).toMatchObject({ gap: 0, live: 0 })
        expect(ledger.journaled).toBeGreaterThanOrEqual(10)
        await needRecords
        if (name === "frozen") await refusesAtOnce(name, unknown.key, limited.key)
      } finally {
        await road.is("open")
      }
      expect(await cluster.sim.entries({ model: `${name}-unknown` })).toEqual([])

      await eventually(() => send("unknown", bearer(unknown.key)), ({ status }) => status === 200, "the unknown key's service", 10_000)
      await eventually(async () => (await operator.raw("GET", "/api/providers")).status, (status) => status === 200, "the management API", 10_000)
      const aliases = await operator.raw("GET", "/api/models/alias")
      expect([aliases.status, aliases.text.includes(`${name}-lost`)]).toEqual([200, false])
      expect(await operator.settled()).toMatchObject({ gap: 0, live: 0, journaled: 0 })
      await cluster.sim.idle()
      const tagged = (names: ReadonlyArray<string | null>) => names.filter((one) => one?.startsWith(`${name}-`) === true).sort()
      const calls = tagged((await cluster.sim.entries()).map((entry) => entry.model))
      expect(tagged((await node.rows()).map((row) => row.model))).toEqual(calls)
      // A Redis that did not answer in time on a busy machine is asked again.
      const other = await eventually(() => session.status(generation + 1), ({ status }) => status !== 503, "the lease store")
      expect(codeOf(other)).toBe("LEASE_FENCE_STALE")
      expect((await eventually(() => session.status(generation), ({ status }) => status !== 503, "the lease store")).status).toBe(200)
      console.log(`Postgres ${name}: ${calls.length} calls upstream, each with its row; largest ms: ${Object.entries(worst).map(([what, ms]) => `${what} ${ms}`).join(", ")}`)
    }
  )

  it("slow: everything is done, later by the delay; a look-up that takes too long is done for the next request", async () => {
    const { operator } = node
    const send = (what: string, key: string, more: Readonly<Record<string, unknown>> = {}) =>
      Http.send(node.url, { path: "/v1/chat/completions", headers: { authorization: `Bearer ${key}` }, body: { model: `lab/slow-${what}`, messages, max_tokens: 4, ...more } })
    const [known, first, second, limited] = [
      await operator.createKey("known"), await operator.createKey("first"), await operator.createKey("second"), await operator.createKey("limited")
    ]
    await operator.call("POST", "/api/usage/token-limits", { apiKeyId: limited.id, scopeType: "global", tokenLimit: 1_000_000 })
    // News of a key makes it unknown once more.
    await converged(node)
    expect((await send("known", known.key)).status).toBe(200)
    expect((await send("none", limited.key)).status).toBe(200)
    const declared = await contractOf(operator, "postgres-slow")
    const timed = async (what: string, feature: string, run: () => Promise<Http.Reply>, statuses: ReadonlyArray<number>): Promise<Http.Reply> => {
      const late = watchLoop()
      const began = performance.now()
      const reply = await run()
      const ms = performance.now() - began
      expect(statuses, `${what}: ${reply.status} ${reply.text}`).toContain(reply.status)
      expect(ms, what).toBeLessThan((declared(feature).addedLatencyMs ?? 0) + ADDED_MS + 2 * late())
      return reply
    }
    const eventuallyServed = (key: string, what: string) => eventually(() => send(what, key), ({ status }) => status === 200, `the service of ${what}`, 10_000)
    for (const feature of ["inference", "api-keys", "limits", "leases", "configuration", "management"]) expect([feature, declared(feature).outcome].join(" ")).toMatch(/admitted$/)
    await road.is({ slowMs: SLOW_MS })
    try {
      for (let i = 0; i < 5; i++) await timed("a known key", "inference", () => send("known", known.key), [200])
      await timed("a new key", "api-keys", () => send("first", first.key), [200, 503])
      await eventuallyServed(first.key, "first")
      await timed("a management read", "management", () => operator.raw("GET", "/api/keys"), [200, 503])
      await timed("a change", "management", () => operator.raw("PUT", "/api/models/alias", { alias: "slow-alias", model: "lab/slow-known" }), [200, 503])
      // Now a look-up takes longer than anybody waits.
      await road.is({ slowMs: 800 })
      const late = await timed("a key behind a very slow server", "api-keys", () => send("second", second.key), [503])
      expect(late.headers["retry-after"]).toBe("1")
      await eventuallyServed(second.key, "second")
      await timed("a known key", "inference", () => send("known", known.key), [200])
    } finally {
      await road.is("open")
    }
    await eventually(() => operator.raw("GET", "/api/keys"), ({ status }) => status === 200, "the management API", 15_000)
    await eventuallyServed(limited.key, "limited")
    expect(await operator.settled()).toMatchObject({ gap: 0, live: 0, journaled: 0 })
    await cluster.sim.idle()
    const tagged = (names: ReadonlyArray<string | null>) => names.filter((one) => one?.startsWith("slow-") === true).sort()
    expect(tagged((await node.rows()).map((row) => row.model))).toEqual(tagged((await cluster.sim.entries()).map((entry) => entry.model)))
  })
})
