/** POST /api/combos/test: every target of a combo asked once through the request path. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Combos, combosOf } from "#test/support/combos.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "ct")
})
afterAll(() => lab.close())

interface Result {
  readonly model: string
  readonly connectionId: string | null
  readonly [field: string]: unknown
}

describe("the test of a combo", () => {
  it("tells of each target's answer or error, and leaves a row for every call", async () => {
    const [good, bad] = [await combos.place({ text: "OK" }, 2), await combos.place({ status: 429, error: { message: "too many" } })]
    const gone = await lab.gateway.operator.createNode({ prefix: "gone", baseUrl: `${lab.sim.url}/v1` })
    const model = await combos.combo("fusion", [{ id: "first", model: good.model, label: "Good" }, bad.model, "gone/model"])
    await lab.gateway.operator.call("DELETE", `/api/provider-nodes/${gone}`)
    const { results } = await lab.gateway.operator.call<{ results: ReadonlyArray<Result> }>("POST", "/api/combos/test", { comboName: model.slice("combo/".length) })
    expect(results.map((result) => [result.model, result.connectionId, result["status"], result["statusCode"]])).toEqual([
      [good.model, good.connections[0], "ok", 200], [good.model, good.connections[1], "ok", 200],
      [bad.model, bad.connections[0], "error", 429], ["gone/model", null, "error", 404]
    ])
    expect(results[0]).toMatchObject({ provider: good.name, stepId: "first", executionKey: `first>${good.connections[0]}`, label: "Good", responseText: "OK" })
    expect(results[0]).not.toHaveProperty("error")
    expect(String(results[2]?.["error"])).toContain("too many")
    expect(results.every(({ latencyMs }) => typeof latencyMs === "number")).toBe(true)
    const [entry] = await combos.seen(good)
    expect([entry?.stream, (entry?.body as Record<string, unknown> | undefined)?.["model"]]).toEqual([false, good.upstream])
    const rows = (await lab.gateway.rows()).filter(({ endpoint }) => endpoint === "/api/combos/test")
    expect(rows.map((row) => [row.model, row.outcome, row.final]).toSorted()).toEqual([
      [bad.upstream, "upstream-status", true], [good.upstream, "completed", true], [good.upstream, "completed", true]
    ].toSorted())
    expect(new Set(rows.map(({ requestId }) => requestId)).size).toBe(3)
  })

  it("an unknown combo is 404", async () => {
    expect((await lab.gateway.operator.raw("POST", "/api/combos/test", { comboName: "nobody" })).status).toBe(404)
  })
})
