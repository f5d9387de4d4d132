/** A node that has `/rerank` alone, while failures are remembered: its first 404 says nothing of the model's health. */
import { afterAll, beforeAll, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ resilience: "awake" })
})
afterAll(() => lab.close())

const rerank = (model: string) => Http.send(lab.gateway.url, { path: "/v1/rerank", body: { model, query: "a cake", documents: ["a cake", "a tool"] } })
const paths = (model: string) => lab.sim.entries({ model }).then((entries) => entries.map(({ path }) => path))
const resting = async () => (await lab.gateway.operator.call<{ items: ReadonlyArray<{ model: string }> }>("GET", "/api/resilience/model-cooldowns")).items.map(({ model }) => model)

it("a node with the second path alone serves request after request", async () => {
  await lab.sim.rule({ match: { model: "rn-second", path: "/v1/rerank" }, script: { status: 404, error: { message: "Not Found" } } })
  for (let i = 0; i < 6; i++) expect((await rerank("lab/rn-second")).status).toBe(200)
  expect(await paths("rn-second")).toEqual(Array.from({ length: 6 }, () => ["/v1/rerank", "/rerank"]).flat())
  expect(await resting()).not.toContain("rn-second")
})

it("a model that neither path knows rests", async () => {
  await lab.sim.rule({ match: { model: "rn-unknown" }, script: { status: 404, error: { message: "no such model" } } })
  expect((await rerank("lab/rn-unknown")).status).toBe(404)
  expect(await paths("rn-unknown")).toEqual(["/v1/rerank", "/rerank"])
  expect(await resting()).toContain("rn-unknown")
})
