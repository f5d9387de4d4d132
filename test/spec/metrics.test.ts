/** Which models GET /metrics shows by name. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { type Lab, startLab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { TARGETS_MAX } from "#src/platform/telemetry/Metrics.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

/** Attempts by model. */
const attempts = async (): Promise<Readonly<Record<string, number>>> => {
  const { text } = await Http.send(lab.gateway.url, { path: "/metrics" })
  const found: Record<string, number> = {}
  for (const [, model = "", count] of text.matchAll(/^gateway_attempts_total\{.*model="([^"]*)".*\} (\d+)$/gm)) found[model] = (found[model] ?? 0) + Number(count)
  return found
}

it("names that clients invent share one series, however many; what the operator named has its own afterwards, too", async () => {
  const { operator } = lab.gateway
  await operator.call("POST", "/api/provider-models", { provider: lab.node, modelId: "added" })
  await operator.call("PUT", "/api/models/alias", { alias: "fast", model: "lab/behind-an-alias" })
  await operator.call("POST", "/api/combos", { name: "pair", strategy: "priority", models: ["lab/in-a-combo"] })
  const invented = TARGETS_MAX + 20
  for (let i = 0; i < invented; i++) expect((await lab.chat({ model: `invented-${i}` })).status).toBe(200)
  for (const model of ["added", "fast", "combo/pair"]) {
    expect((await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model: model === "added" ? "lab/added" : model, messages: [{ role: "user", content: "hi" }] } })).status).toBe(200)
  }
  expect(await eventually(attempts, (seen) => Object.values(seen).reduce((sum, count) => sum + count, 0) === invented + 3, "the count of every attempt")).toEqual({
    unknown: invented, added: 1, "behind-an-alias": 1, "in-a-combo": 1
  })
})
