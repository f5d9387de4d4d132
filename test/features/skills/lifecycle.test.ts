/** Executions and time: limits, callers that leave, gateways that are not told to run anything. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { assert, it as effects } from "@effect/vitest"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { SkillExecutionStore } from "#src/features/skills/ports/SkillExecutionStore.ts"
import * as Management from "#test/support/management.ts"
import { eventually } from "#test/support/operator.ts"
import { sandboxesOf, startSkills, type SkillsLab } from "./lab.ts"

describe("a gateway that runs skills", () => {
  let lab: SkillsLab
  beforeAll(async () => {
    lab = await startSkills({ GATEWAY_SKILLS_TIMEOUT_MS: "3000" })
    await lab.install({ name: "endless", handlerCode: "for (;;);" })
  })
  afterAll(() => lab.close())

  it("runs two at once, refuses a third, and ends what takes too long", async () => {
    const asked = [lab.execute("endless"), lab.execute("endless")]
    await eventually(async () => (await lab.history()).filter(({ status }) => status === "running").length, (count) => count === 2, "two that run")
    const third = await lab.gateway.operator.raw("POST", "/api/skills/executions", { apiKeyId: lab.apiKeyId, skillName: "endless" })
    expect([third.status, third.headers["retry-after"]]).toEqual([429, "1"])
    for (const ended of await Promise.all(asked)) expect(ended).toMatchObject({ status: "timeout", output: null, errorMessage: "The handler did not end within 3000 ms." })
    expect(sandboxesOf(process.pid)).toEqual([])
    expect((await lab.history()).map(({ status }) => status)).toEqual(["timeout", "timeout"])
  })

  it("ends what its caller does not wait for", async () => {
    const { key } = await lab.gateway.operator.createKey("leaver", { scopes: ["manage"] })
    const leaving = new AbortController()
    const asked = fetch(`${lab.gateway.url}/api/skills/executions`, {
      method: "POST", signal: leaving.signal, headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ apiKeyId: lab.apiKeyId, skillName: "endless" })
    })
    await eventually(lab.history, ([newest]) => newest?.status === "running", "one that runs")
    leaving.abort()
    await expect(asked).rejects.toThrow()
    const [ended] = await eventually(lab.history, ([newest]) => newest?.status === "error", "the end of one that was left")
    expect(ended).toMatchObject({ status: "error", errorMessage: "The caller left." })
    expect(sandboxesOf(process.pid)).toEqual([])
  })

  it("keeps the records over a restart", async () => {
    const before = await lab.history()
    await lab.gateway.restart()
    await lab.gateway.operator.login()
    expect(await lab.history()).toEqual(before)
    expect((await lab.gateway.operator.call<{ total: number }>("GET", "/api/skills")).total).toBe(1)
  })
})

describe("a gateway as it is by default", () => {
  effects.effect("keeps skills and runs none", () => Effect.gen(function*() {
    const { ask, key, login } = yield* Management.make()
    const cookie = yield* login()
    const { id } = yield* key([])
    assert.strictEqual((yield* ask("/api/skills/install", { cookie, body: { name: "a", handlerCode: "return 1" } })).status, 200)
    for (const skillName of ["a", "unknown"]) {
      const refused = yield* ask("/api/skills/executions", { cookie, body: { skillName, apiKeyId: id } })
      assert.deepStrictEqual([refused.status, Management.at(refused.json, "error", "code")], [503, "SKILLS_DISABLED"], skillName)
    }
    assert.strictEqual(Management.at((yield* ask("/api/skills", { cookie })).json, "total"), 1)
    assert.strictEqual(Management.at((yield* ask("/api/skills/executions", { cookie })).json, "total"), 0)
  }))

  effects.effect("settles an execution whose gateway ended, once its end is a minute overdue", () => Effect.gen(function*() {
    const { advance, ask, context, login } = yield* Management.make()
    const cookie = yield* login()
    const createdAt = new Date(yield* Clock.currentTimeMillis).toISOString()
    yield* Context.get(context, SkillExecutionStore).insert({
      id: "lost", skillId: "s", apiKeyId: "k", sessionId: null, input: {}, output: null, status: "running", errorMessage: null, durationMs: null, createdAt
    })
    const found = Effect.map(ask("/api/skills/executions", { cookie }), ({ json }) =>
      [Management.at(json, "executions", 0, "status"), Management.at(json, "executions", 0, "errorMessage")])
    yield* advance(90_000)
    assert.deepStrictEqual(yield* found, ["running", null])
    yield* advance(1)
    assert.deepStrictEqual(yield* found, ["error", "The gateway that ran it ended."])
  }))

  effects.effect("takes code from credentials with full rights alone, also where no sign-in is required", () => Effect.gen(function*() {
    const { ask, key } = yield* Management.make({ settings: { requireLogin: false } })
    const asked = [["/api/skills/install", { name: "a", handlerCode: "return 1" }], ["/api/skills/executions", { skillName: "a", apiKeyId: "k" }]] as const
    const inference = yield* key([])
    for (const [path, body] of asked) {
      assert.strictEqual((yield* ask(path, { body })).status, 401)
      assert.strictEqual((yield* ask(path, { body, bearer: inference.raw })).status, 403)
    }
    const manager = yield* key(["manage"])
    assert.strictEqual((yield* ask("/api/skills/install", { body: { name: "a", handlerCode: "return 1" }, bearer: manager.raw })).status, 200)
    assert.strictEqual((yield* ask("/api/skills")).status, 200)
  }))
})
