/** Requests that come twice within their window, on one node and on two that share a Redis. */
import { randomBytes } from "node:crypto"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type InProcess, inProcess, type Spawned, spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, messages, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { canStartRedis, type OwnRedis, ownRedis } from "#test/support/redis.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  await lab.gateway.operator.price(lab.node, "twice", { input: 1, output: 10 })
})
afterAll(() => lab.close())

const key = (value: string) => ({ "idempotency-key": value })
const isRepeat = (reply: { readonly headers: Readonly<Record<string, string>> }) => reply.headers["x-gateway-idempotent"]
const callsOf = async (model: string): Promise<number> => (await lab.sim.entries({ model })).length
/** Waits until the simulator has the call. */
const asked = (model: string) => eventually(() => lab.sim.entries({ model, outcome: "open" }), ({ length }) => length >= 1, `the call of ${model}`)
/** Everything that was sent before has been read by the gateway. */
const arrived = async (): Promise<void> => {
  for (let i = 0; i < 2; i++) await Http.send(lab.gateway.url, { path: "/api/health/ping" })
}

describe("a request that comes again", () => {
  it("gets the same bytes without an upstream call, and costs nothing", async () => {
    const first = await lab.chat({ model: "twice" }, key("k-1"))
    const again = await lab.chat({ model: "twice" }, key("k-1"))
    expect([first.status, again.status, isRepeat(first), isRepeat(again)]).toEqual([200, 200, undefined, "true"])
    expect(again.bytes.equals(first.bytes)).toBe(true)
    expect(again.headers).toMatchObject({ "content-type": "application/json", "x-gateway-model": "lab/twice", "x-gateway-response-cost": "0.0000000000" })
    expect(first.headers["x-gateway-response-cost"]).not.toBe("0.0000000000")
    expect(again.headers["x-gateway-request-id"]).not.toBe(first.headers["x-gateway-request-id"])
    expect(await callsOf("twice")).toBe(1)
    expect([(await lab.rows(first)).length, (await lab.rows(again)).length]).toEqual([1, 0])
  })

  it("while the first runs, twenty share its call", async () => {
    await lab.sim.rule({ match: { model: "shared" }, script: { latencyMs: 300 } })
    const replies = await Promise.all(Array.from({ length: 20 }, () => lab.chat({ model: "shared" }, key("k-shared"))))
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1)
    expect(replies.filter((reply) => isRepeat(reply) === "true").length).toBe(19)
    expect(await callsOf("shared")).toBe(1)
  })

  it("an Idempotency-Key with another body is refused, while the first runs and after it; another key's is its own", async () => {
    await lab.sim.rule({ match: { model: "reused" }, script: { latencyMs: 300 } })
    const first = lab.chat({ model: "reused" }, key("k-reused"))
    await asked("reused")
    for (const when of ["running", "finished"]) {
      const other = await lab.chat({ model: "reused", max_tokens: 5 }, key("k-reused"))
      expect([when, other.status, errorIn(other)["code"]]).toEqual([when, 409, "idempotency_key_reused"])
      expect(String(errorIn(other)["message"])).toContain("new key")
      await first
    }
    const tenant = await lab.gateway.operator.createKey("idempotent")
    const own = await lab.chat({ model: "reused", max_tokens: 5 }, { ...key("k-reused"), authorization: `Bearer ${tenant.key}` })
    expect([own.status, isRepeat(own)]).toEqual([200, undefined])
    expect(await callsOf("reused")).toBe(2)
  })

  it("X-Request-Id names it too; there another body is another request", async () => {
    const id = { "x-request-id": "trace-1" }
    const replies = [
      await lab.chat({ model: "traced" }, id), await lab.chat({ model: "traced" }, id),
      await lab.chat({ model: "traced", max_tokens: 5 }, id), await lab.chat({ model: "traced", max_tokens: 5 }, { ...id, ...key("k-traced") })
    ]
    expect(replies.map((reply) => [reply.status, isRepeat(reply)])).toEqual([[200, undefined], [200, "true"], [200, undefined], [200, undefined]])
    expect(await callsOf("traced")).toBe(3)
  })

  it("streams pass: each makes its call", async () => {
    const replies = [await lab.chat({ model: "streamed", stream: true }, key("k-stream")), await lab.chat({ model: "streamed", stream: true }, key("k-stream"))]
    expect(replies.map(isRepeat)).toEqual([undefined, undefined])
    expect(await callsOf("streamed")).toBe(2)
  })

  it("a failure is no reply: its caller hears it, the next in line makes the call, and so does who comes later", async () => {
    await lab.sim.rule({ match: { model: "failing" }, times: 1, script: { status: 500, latencyMs: 300 } })
    await lab.sim.rule({ match: { model: "failing" }, script: { latencyMs: 50 } })
    const first = lab.chat({ model: "failing" }, key("k-fail"))
    await asked("failing")
    const others = await Promise.all([lab.chat({ model: "failing" }, key("k-fail")), lab.chat({ model: "failing" }, key("k-fail"))])
    expect([(await first).status, others.map(({ status }) => status), others.map(isRepeat).sort()]).toEqual([500, [200, 200], ["true", undefined]])
    expect(await callsOf("failing")).toBe(2)
    await lab.sim.rule({ match: { model: "refused" }, times: 1, script: { status: 400 } })
    const replies = [await lab.chat({ model: "refused" }, key("k-refused")), await lab.chat({ model: "refused", max_tokens: 5 }, key("k-refused"))]
    expect(replies.map(({ status }) => status)).toEqual([400, 200])
  })

  it("what cannot be planned is refused to each of them, and the key stays free", async () => {
    for (let i = 0; i < 2; i++) expect((await lab.chat({ model: "nowhere/x" }, key("k-plan"))).status).toBe(404)
    expect((await lab.chat({ model: "echo" }, key("k-plan"))).status).toBe(200)
  })

  it("the first one's client may leave: the call goes on for those who wait, and is cut when nobody does", async () => {
    await lab.sim.rule({ match: { model: "left" }, script: { latencyMs: 600 } })
    const first = Http.open(lab.gateway.url, lab.call({ model: "left" }, key("k-left")))
    await asked("left")
    const second = lab.chat({ model: "left" }, key("k-left"))
    await arrived()
    first.request.destroy()
    expect([(await second).status, isRepeat(await second), await callsOf("left")]).toEqual([200, "true", 1])

    await lab.sim.rule({ match: { model: "alone" }, script: { neverHead: true } })
    const calls = [Http.open(lab.gateway.url, lab.call({ model: "alone" }, key("k-alone")))]
    await asked("alone")
    calls.push(Http.open(lab.gateway.url, lab.call({ model: "alone" }, key("k-alone"))))
    await arrived()
    for (const { request } of calls) request.destroy()
    const [entry] = await lab.sim.ended({ model: "alone" })
    expect([entry?.outcome, await callsOf("alone")]).toEqual(["client-aborted", 1])
  })

  it("a client that leaves while its request waits for another one's answer leaves its key free", async () => {
    await lab.sim.rule({ match: { model: "behind" }, script: { latencyMs: 700 } })
    const ahead = lab.chat({ model: "behind", temperature: 0 })
    await asked("behind")
    const waiting = Http.open(lab.gateway.url, lab.call({ model: "behind", temperature: 0 }, key("k-behind")))
    await arrived()
    waiting.request.destroy()
    await arrived()
    const again = await lab.chat({ model: "behind", temperature: 0 }, key("k-behind"))
    expect([(await ahead).status, again.status, isRepeat(again), again.headers["x-gateway-cache"], await callsOf("behind")]).toEqual([200, 200, undefined, "HIT", 1])
  })

  it("after the window it is a new request; 0 switches it off", async () => {
    const { operator } = lab.gateway
    await operator.call("PUT", "/api/settings/cache-config", { idempotencyWindowMs: 100 })
    await lab.chat({ model: "window" }, key("k-window"))
    await eventually(() => lab.chat({ model: "window" }, key("k-window")), (reply) => isRepeat(reply) === undefined, "the end of the window")
    await operator.call("PUT", "/api/settings/cache-config", { idempotencyWindowMs: 0 })
    const replies = [await lab.chat({ model: "off" }, key("k-off")), await lab.chat({ model: "off" }, key("k-off"))]
    expect(replies.map(isRepeat)).toEqual([undefined, undefined])
    await operator.call("PUT", "/api/settings/cache-config", { idempotencyWindowMs: 5000 })
  })
})

describe.skipIf(!canStartRedis())("over nodes that share a Redis", () => {
  let redis: OwnRedis
  let two: InProcess
  let doomed: Spawned
  const environment = () => ({ REDIS_URL: redis.url, GATEWAY_REDIS_TIMEOUT_MS: "250", GATEWAY_REDIS_PREFIX: `t${randomBytes(4).toString("hex")}:` })
  let one: InProcess
  beforeAll(async () => {
    redis = await ownRedis()
    const shared = environment()
    ;[one, two, doomed] = await Promise.all([inProcess({ environment: shared }), inProcess({ environment: shared }), spawned({ environment: shared })])
    for (const { operator } of [one, two, doomed]) {
      await operator.letFailuresPass()
      const provider = await operator.createNode({ prefix: "lab", baseUrl: `${lab.sim.url}/v1` })
      await operator.createConnection({ provider, apiKey: "shared-credential-1234567890" })
    }
  }, 300_000)
  afterAll(async () => {
    for (const gateway of [one, two, doomed]) await gateway.close()
    await redis.stop()
  })
  const ask = (gateway: { readonly url: string }, model: string, name: string, more: Record<string, unknown> = {}) =>
    Http.send(gateway.url, { path: "/v1/chat/completions", headers: key(name), body: { model: `lab/${model}`, messages, ...more } })

  it("two nodes make one call for one key, and answer the same bytes", async () => {
    await lab.sim.rule({ match: { model: "nodes" }, script: { latencyMs: 300 } })
    const replies = await Promise.all([one, two, one, two].map((gateway) => ask(gateway, "nodes", "n-1")))
    expect([new Set(replies.map(({ text }) => text)).size, replies.filter((reply) => isRepeat(reply) === "true").length]).toEqual([1, 3])
    expect(isRepeat(await ask(two, "nodes", "n-1"))).toBe("true")
    expect(await callsOf("nodes")).toBe(1)
    expect((await ask(two, "nodes", "n-1", { max_tokens: 5 })).status).toBe(409)
  })

  it("kill -9 of the node that calls: its claim expires and a waiting node makes the call", async () => {
    await lab.sim.rule({ match: { model: "killed" }, times: 1, script: { neverHead: true } })
    const lost = ask(doomed, "killed", "n-killed").then(() => "answered", () => "lost")
    await asked("killed")
    const waiting = ask(two, "killed", "n-killed")
    await doomed.kill9()
    expect([await lost, (await waiting).status, await callsOf("killed")]).toEqual(["lost", 200, 2])
  })

  it("without Redis each node drops the duplicates of its own, and nobody is refused", async () => {
    redis.freeze()
    try {
      const replies = [await ask(one, "frozen", "n-frozen"), await ask(one, "frozen", "n-frozen"), await ask(two, "frozen", "n-frozen")]
      expect(replies.map((reply) => [reply.status, isRepeat(reply)])).toEqual([[200, undefined], [200, "true"], [200, undefined]])
    } finally {
      redis.thaw()
    }
  })

  it("an answer that one node stored is a hit on the other, and forgetting it reaches both", async () => {
    const sure = { temperature: 0 }
    const plain = (gateway: InProcess) =>
      Http.send(gateway.url, { path: "/v1/chat/completions", body: { model: "lab/both", messages, ...sure } }).then((reply) => reply.headers["x-gateway-cache"])
    expect(await eventually(() => Promise.all([plain(one), plain(two)]).then((seen) => seen.join(" ")), (seen) => seen === "HIT HIT", "the shared answer")).toBe("HIT HIT")
    const before = await callsOf("both")
    await one.operator.call("DELETE", "/api/cache")
    await eventually(() => plain(two), (seen) => seen === "MISS", "the forgetting on the other node")
    expect(await callsOf("both")).toBe(before + 1)
  })
})
