/** A session that goes on with another model on another node is handed over as on one. */
import { Redis } from "ioredis"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answerOf, combosOf, saidTo } from "#test/support/combos.ts"
import { converged, findServers, type Ground, ground } from "#test/support/cluster.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

const servers = await findServers()
/** What was told leaves Redis for both listeners at once; the other node may read it a little later than this test does. */
const TRIES = 5

describe.skipIf(servers.missing !== null)("a session over two nodes", { timeout: 180_000 }, () => {
  let common: Ground
  let first: Lab
  let second: InProcess

  beforeAll(async () => {
    common = await ground(servers.postgres)
    first = await startLab({ environment: { ...common.environment, GATEWAY_NODE_ID: "one" } })
    second = await inProcess({ environment: { ...common.environment, GATEWAY_NODE_ID: "two" } })
  }, 180_000)
  afterAll(async () => {
    await second.close()
    await first.close()
    await common.close()
  })

  it("gets its summary on the node that goes on", async () => {
    const combos = combosOf(first, "ho")
    const [a, b, scribe] = [await combos.place(), await combos.place(), await combos.place({ text: "They told a story." })]
    const model = await combos.combo("context-relay", [a.model, b.model], { context_length: 1_000, config: { handoffModel: scribe.model } })
    const [connection] = a.connections
    if (connection === undefined) throw new Error("a connection")
    const messages = [
      { role: "user", content: `Once upon a time ${"and more of it ".repeat(120)}` },
      { role: "assistant", content: `I said: ${"this and that ".repeat(120)}` },
      { role: "user", content: "What now?" }
    ]
    const listener = new Redis(common.redis.url)
    const told: Array<string> = []
    listener.on("message", (_channel, text) => told.push(text))
    await listener.subscribe("gateway:session-places")
    let said = ""
    for (let i = 0; i < TRIES && !said.includes("They told a story."); i++) {
      const headers = { "x-session-id": `s-${i}` }
      await first.gateway.operator.changeConnection(connection, { isActive: true })
      await converged(first.gateway)
      const begun = await first.chat({ model, messages: [{ role: "user", content: "Hello." }] }, headers)
      expect(answerOf(begun)).toBe(a.name)
      await eventually(() => Promise.resolve(told.length), (count) => count > i, "the place of the session in Redis")
      await first.gateway.operator.changeConnection(connection, { isActive: false })
      await converged(first.gateway)
      const reply = await Http.send(second.url, { path: "/v1/chat/completions", headers, body: { model, messages } })
      expect(answerOf(reply)).toBe(b.name)
      said = saidTo((await combos.seen(b)).at(-1))
    }
    listener.disconnect()
    expect(said).toContain("They told a story.")
  })

  it("keeps the target that holds the cache of its prompt on the node that goes on", async () => {
    const combos = combosOf(first, "hp")
    const listener = new Redis(common.redis.url)
    const told: Array<string> = []
    listener.on("message", (_channel, text) => told.push(text))
    await listener.subscribe("gateway:session-places")
    let [kept, wanted] = ["", "b"]
    for (let i = 0; i < TRIES && kept !== wanted; i++) {
      const [a, b] = [await combos.place(), await combos.place()]
      const model = await combos.combo("round-robin", [a.model, b.model], { context_cache_protection: true, config: { stickyRoundRobinLimit: 1 } })
      await Promise.all([converged(first.gateway), converged(second)])
      const messages = [{ role: "user", content: "Hello." }]
      const ask = (url: string, session: string) => Http.send(url, { path: "/v1/chat/completions", headers: { "x-session-id": session }, body: { model, messages } })
      expect(answerOf(await ask(first.gateway.url, `first-${i}`))).toBe(a.name)
      expect(answerOf(await ask(first.gateway.url, `second-${i}`))).toBe(b.name)
      await eventually(() => Promise.resolve(told.filter((text) => text.includes("executionKey")).length), (count) => count > i, "the places in Redis")
      // A node that was told nothing takes its own turn, which begins with the first target.
      kept = answerOf(await ask(second.url, `second-${i}`)) ?? ""
      wanted = b.name
    }
    listener.disconnect()
    expect(kept).toBe(wanted)
  })
})
