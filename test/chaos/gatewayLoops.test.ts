/** Provider nodes that lead back here: alone, below a combo, and over a second gateway. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { hopsHeader } from "#schemas/hops.ts"
import * as Http from "#test/support/http.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let other: InProcess
beforeAll(async () => {
  lab = await startLab()
  other = await inProcess()
  await other.operator.letFailuresPass()
  await leadTo(lab.gateway, "self", lab.gateway)
  await leadTo(lab.gateway, "there", other)
  await leadTo(other, "back", lab.gateway)
})
afterAll(async () => {
  await other.close()
  await lab.close()
})

const leadTo = async (from: InProcess, prefix: string, to: InProcess): Promise<void> => {
  const { key } = await to.operator.createKey(`of ${prefix}`)
  const provider = await from.operator.createNode({ prefix, baseUrl: `${to.url}/v1` })
  await from.operator.createConnection({ provider, apiKey: key })
}

const passedBy = async (model: string): Promise<ReadonlyArray<string>> =>
  (await lab.sim.entries({ model })).map((entry) => String(entry.headers[hopsHeader]))

const ask = (hops: string, path = "/v1/chat/completions", model = "lab/echo") =>
  Http.send(lab.gateway.url, { path, headers: { [hopsHeader]: hops }, body: { model, max_tokens: 9, input: "x", messages: [{ role: "user", content: "x" }] } })

describe("a loop of gateways", () => {
  it("ends at the first call that comes back, whatever it asks for", async () => {
    const reply = await lab.chat({ model: "self/lab/self-alone" })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([508, "loop_detected"])
    expect(await passedBy("self-alone")).toEqual([])
    expect((await lab.rows(reply)).length).toBeLessThanOrEqual(4)
  })

  it("multiplies no call of a combo that leads to itself, and the combo falls back", async () => {
    const name = "ouroboros"
    await lab.gateway.operator.call("POST", "/api/combos", {
      name, models: [`self/${name}`, `self/${name}`, `there/back/${name}`, "lab/below-the-loop"], config: { maxRetries: 0 }
    })
    const reply = await lab.chat({ model: `self/${name}` })
    expect(reply.status).toBe(508)
    const own = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model: name, messages: [{ role: "user", content: "x" }] } })
    expect(own.status).toBe(200)
    expect(await passedBy("below-the-loop")).toHaveLength(1)
    expect((await lab.rows(own)).length).toBeLessThanOrEqual(4)
  })

  it("ends in a ring of two", async () => {
    const reply = await lab.chat({ model: "there/back/lab/around" })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([508, "loop_detected"])
    expect(await passedBy("around")).toEqual([])
  })

  it("names itself to the upstream in every call, behind those that it came from", async () => {
    await lab.chat({ model: "plain-call" })
    const [own] = await passedBy("plain-call")
    expect(own).toMatch(/^[\w-]{36}$/)
    expect((await ask("one, two, three", undefined, "lab/far-call")).status).toBe(200)
    expect(await passedBy("far-call")).toEqual([`one, two, three, ${own}`])
    await lab.gateway.operator.call("POST", `/api/providers/${lab.connection}/test`)
    await lab.gateway.operator.call("GET", `/api/providers/${lab.connection}/models`)
    expect((await lab.sim.entries()).filter((entry) => !String(entry.headers[hopsHeader]).endsWith(own!))).toEqual([])
  })

  it.each([
    ["/v1/chat/completions", (body: Record<string, Record<string, unknown>>) => body["error"]?.["code"]],
    ["/v1/responses", (body: Record<string, Record<string, unknown>>) => body["error"]?.["code"]],
    ["/v1/messages", (body: Record<string, Record<string, unknown>>) => body["type"]],
    ["/v1beta/models/lab/echo:generateContent", (body: Record<string, Record<string, unknown>>) => body["error"]?.["code"]],
    ["/v1/messages/count_tokens", (body: Record<string, Record<string, unknown>>) => body["type"]],
    ["/v1/models", (body: Record<string, Record<string, unknown>>) => body["error"]?.["code"]]
  ])("is refused with 508 in the client's words: %s", async (path, word) => {
    const [own] = await passedBy("plain-call")
    for (const hops of [own!, `x, ${own}`, "a, b, c, d"]) {
      const reply = await ask(hops, path)
      expect(reply.status).toBe(508)
      expect(["loop_detected", "error", 508]).toContain(word(JSON.parse(reply.text) as Record<string, Record<string, unknown>>))
    }
    for (const hops of ["a b", ",", "a,,b", "x".repeat(65), "é"]) expect((await ask(hops, path)).status).toBe(400)
  })
})

it("a gateway with GATEWAY_OWN_HOPS lets a call come back so often", async () => {
  const gateway = await inProcess({ environment: { GATEWAY_OWN_HOPS: "1" } })
  try {
    await gateway.operator.letFailuresPass()
    const provider = await gateway.operator.createNode({ prefix: "lab", baseUrl: `${lab.sim.url}/v1` })
    await gateway.operator.createConnection({ provider, apiKey: "any" })
    const { key } = await gateway.operator.createKey("own")
    const self = await gateway.operator.createNode({ prefix: "self", baseUrl: `${gateway.url}/v1` })
    await gateway.operator.createConnection({ provider: self, apiKey: key })
    const call = (model: string) => Http.send(gateway.url, { path: "/v1/chat/completions", body: { model, messages: [{ role: "user", content: "x" }] } })
    expect((await call("self/lab/once")).status).toBe(200)
    expect((await call("self/self/lab/twice")).status).toBe(508)
    expect([await passedBy("once").then((list) => list.length), await passedBy("twice")]).toEqual([1, []])
  } finally {
    await gateway.close()
  }
})
