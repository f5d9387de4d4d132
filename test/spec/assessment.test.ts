/** GET and POST /api/assess: each model of a scope is asked one short question through the request path. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Combos, combosOf } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "assess")
})
afterAll(() => lab.close())

interface Model {
  readonly modelId: string
  readonly status: string
  readonly lastOutcome: string
  readonly lastStatus: number
  readonly lastError: string | null
  readonly failures: number
}
interface Finished {
  readonly run_id: string
  readonly models_tested: number
  readonly models_passed: number
  readonly models_failed: number
  readonly models_rate_limited: number
}
const call = <A>(method: string, path: string, body?: unknown) => lab.gateway.operator.call<A>(method, path, body)
const assess = (scope: Record<string, unknown>, more: Record<string, unknown> = {}) => call<Finished>("POST", "/api/assess", { scope, ...more })
const model = (modelId: string) => assess({ type: "model", modelId })
const results = async (query = "") => (await call<{ models: ReadonlyArray<Model> }>("GET", `/api/assess?action=results${query}`)).models
const standing = async (modelId: string) => (await results()).find((one) => one.modelId === modelId)

describe("assessment", () => {
  it("asks one question of 3 tokens through the request path, and its call has a row in the ledger", async () => {
    const place = await combos.place({ text: "ok" })
    const finished = await model(place.model)
    expect(finished).toMatchObject({ status: "completed", models_tested: 1, models_passed: 1, models_failed: 0, models_rate_limited: 0 })
    const [asked, ...more] = await combos.seen(place)
    expect([more.length, asked?.body]).toEqual([0, expect.objectContaining({ max_tokens: 3 })])
    expect(await standing(place.model)).toMatchObject({
      modelId: place.model, provider: place.name, category: "chat", status: "working", lastOutcome: "passed", passes: 1, failures: 0, lastStatus: 200, lastError: null, lastRunId: finished.run_id
    })
    const rows = (await lab.gateway.rows()).filter(({ endpoint, model }) => endpoint === "/api/assess" && model === place.upstream)
    expect(rows.map(({ outcome, connectionId, apiKeyId }) => [outcome, connectionId, apiKeyId])).toEqual([["completed", place.connections[0], null]])
  })

  it("three failures in a row break a model, two passes restore it, a rate limit says nothing", async () => {
    const place = await combos.place({ status: 500, error: { message: "it is broken" } })
    const statuses: Array<string | undefined> = []
    const next = async (script: Record<string, unknown>) => {
      await lab.sim.rule({ id: place.name, match: { model: place.upstream }, script })
      const finished = await model(place.model)
      statuses.push((await standing(place.model))?.status)
      return finished
    }
    const [broken, limited, well] = [{ status: 500, error: { message: "it is broken" } }, { status: 429, error: { message: "slow down" } }, { text: "ok" }]
    expect(await next(broken)).toMatchObject({ models_passed: 0, models_failed: 1 })
    expect(await standing(place.model)).toMatchObject({ lastOutcome: "failed", lastStatus: 500 })
    expect((await standing(place.model))?.lastError).toContain("it is broken")
    await next(broken)
    expect(await next(limited)).toMatchObject({ models_failed: 0, models_rate_limited: 1 })
    await next(broken)
    await next(well)
    await next(well)
    expect(statuses).toEqual(["failing", "failing", "failing", "broken", "broken", "working"])
  })

  it("a provider's models, or those of all providers, each once; results are filtered, and combos judged by them", async () => {
    const [good, bad, unasked] = [await combos.place({ text: "ok" }), await combos.place({ status: 500, error: { message: "away" } }), await combos.place()]
    for (const { name, upstream } of [good, bad]) await call("POST", "/api/provider-models", { provider: name, modelId: upstream, modelName: upstream })
    expect(await assess({ type: "provider", providerId: good.name }, { trigger: "by_hand" })).toMatchObject({ models_tested: 1, models_passed: 1 })
    const all = await assess({ type: "all" })
    expect(all.models_tested).toBe(all.models_passed + all.models_failed + all.models_rate_limited)
    expect([all.models_passed >= 1, all.models_failed]).toEqual([true, 1])
    expect([(await combos.seen(good)).length, (await combos.seen(unasked)).length]).toEqual([2, 0])
    expect((await results(`&provider=${bad.name}`)).map(({ modelId, status }) => [modelId, status])).toEqual([[bad.model, "failing"]])
    expect((await results("&status=failing")).map(({ modelId }) => modelId)).toContain(bad.model)
    expect((await results("&category=image")).length).toBe(0)
    const working = (await call<{ models: ReadonlyArray<Model> }>("GET", "/api/assess?action=working")).models.map(({ modelId }) => modelId)
    expect([working.includes(good.model), working.includes(bad.model)]).toEqual([true, false])
    for (const models of [[good], [good, bad], [bad], [unasked]]) await combos.combo("priority", models.map((one) => one.model))
    const { combos: judged } = await call<{ combos: ReadonlyArray<{ status: string; working: number; total: number }> }>("GET", "/api/assess?action=combo-health")
    expect(judged.map(({ status, total, working }) => [status, working, total]).toSorted()).toEqual([["degraded", 1, 2], ["down", 0, 1], ["healthy", 1, 1], ["unknown", 0, 1]])
  })

  it("refuses what it cannot ask, names the field, and needs management rights", async () => {
    const refused = async (body: unknown) => {
      const { status, text } = await lab.gateway.operator.raw("POST", "/api/assess", body)
      return [status, (JSON.parse(text) as { error: { details: ReadonlyArray<{ field: string }> } }).error.details.map(({ field }) => field)]
    }
    expect(await refused({ scope: { type: "provider", providerId: "no-such-provider" } })).toEqual([400, ["scope.providerId"]])
    expect(await refused({ scope: { type: "model", modelId: "no-such-provider/m" } })).toEqual([400, ["scope.modelId"]])
    expect(await refused({ scope: { type: "model", modelId: "bare" } })).toEqual([400, ["scope.modelId"]])
    expect((await refused({ scope: { type: "everything" } }))[0]).toBe(400)
    expect(Object.keys(await call<Record<string, unknown>>("GET", "/api/assess"))).toEqual(["actions", "scopes"])
    for (const method of ["GET", "POST"]) expect((await Http.send(lab.gateway.url, { method, path: "/api/assess", ...(method === "POST" ? { body: { scope: { type: "all" } } } : {}) })).status).toBe(401)
  })

  it("one run at a time; results outlive a restart", async () => {
    const place = await combos.place({ text: "ok", latencyMs: 500 })
    const first = model(place.model)
    await combos.asked(place)
    expect((await lab.gateway.operator.raw("POST", "/api/assess", { scope: { type: "model", modelId: place.model } })).status).toBe(409)
    expect(await first).toMatchObject({ models_passed: 1 })
    await lab.gateway.restart()
    expect(await standing(place.model)).toMatchObject({ status: "working" })
  })
})
