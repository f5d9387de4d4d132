/** The setting comboAutoPromoteEnabled over HTTP: who answered after a failure is asked first from then on. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { inProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, messages, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { startSim } from "#test/support/sim.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())
const set = (comboAutoPromoteEnabled: boolean) => lab.gateway.operator.call("PATCH", "/api/settings", { comboAutoPromoteEnabled })
afterEach(() => set(false))

let made = 0
interface Stored { readonly id: string; readonly models: ReadonlyArray<{ readonly model: string }> }
/** A combo whose steps answer by these scripts. */
const combo = async (scripts: ReadonlyArray<Record<string, unknown>>, strategy = "priority") => {
  const models = await Promise.all(scripts.map(async (script) => {
    const name = `promo${++made}`
    await lab.pool(name, [`${name}-credential-number-0`])
    await lab.sim.rule({ id: name, match: { model: `m-${name}` }, script })
    return `${name}/m-${name}`
  }))
  const name = `promoted-${++made}`
  const { id } = await lab.gateway.operator.call<Stored>("POST", "/api/combos", { name, models, strategy, config: { maxRetries: 0 } })
  const stored = async () => {
    const reply = await lab.gateway.operator.call<{ combos: ReadonlyArray<Stored> }>("GET", "/api/combos")
    return (reply.combos.find((one) => one.id === id)?.models ?? []).map((step) => models.indexOf(step.model))
  }
  const ask = async (stream = false) => {
    const reply = await lab.chat({ model: `combo/${name}`, stream })
    return [reply.status, Number(reply.headers["x-gateway-fallback-attempts"] ?? 0)]
  }
  const order = (wanted: ReadonlyArray<number>) => eventually(stored, (seen) => seen.join() === wanted.join(), `the order ${wanted.join()}`)
  return { id, ask, stored, order }
}
const promotions = async (id: string) => (await lab.gateway.operator.call<ReadonlyArray<{ target: string; actor: string; details: Record<string, unknown> }>>(
  "GET", "/api/compliance/audit-log?action=combo.promoted&limit=50")).filter(({ target }) => target === id)

describe("comboAutoPromoteEnabled", () => {
  it("stores the step that answered before the one that failed, once, and the next request begins with it", async () => {
    await set(true)
    const one = await combo([{ text: "spare" }, { status: 503 }, { status: 500 }, { text: "well" }])
    const first = await combo([{ status: 503 }, { status: 500 }, { text: "well" }, { text: "never" }])
    expect(await one.ask()).toEqual([200, 0])
    expect(await first.ask(true)).toEqual([200, 2])
    await first.order([2, 0, 1, 3])
    expect(await Promise.all([first.ask(), first.ask(), first.ask(true)])).toEqual([[200, 0], [200, 0], [200, 0]])
    const [entry, ...more] = await eventually(() => promotions(first.id), (entries) => entries.length > 0, "the audit entry")
    expect([entry?.actor, more]).toEqual(["gateway", []])
    expect(await one.stored()).toEqual([0, 1, 2, 3])
  })

  it("leaves the order alone while it is off, after a refusal of the request, and in combos of other strategies", async () => {
    const off = await combo([{ status: 503 }, { text: "well" }])
    expect(await off.ask()).toEqual([200, 1])
    await set(true)
    const [refused, weighted, last] = [await combo([{ status: 400 }, { text: "well" }]), await combo([{ status: 503 }, { text: "well" }], "round-robin"), await combo([{ status: 503 }, { text: "well" }])]
    for (const one of [refused, weighted, weighted, last]) expect((await one.ask())[0]).toBe(200)
    // What was shown before has been heard by then.
    await last.order([1, 0])
    expect(await Promise.all([off, refused, weighted].map((one) => one.stored()))).toEqual([[0, 1], [0, 1], [0, 1]])
  })

  it("leaves a combo of the configuration file as the file has it", async () => {
    const sim = await startSim({ models: { "*": {} } })
    onTestFinished(() => sim.stop())
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-promotion-"))
    const file = path.join(directory, "gateway.yaml")
    fs.writeFileSync(file, `
nodes:
  lab: { type: openai-compatible, apiType: chat, baseUrl: "${sim.url}/v1" }
providers:
  lab-main: { provider: lab, apiKey: sk-of-the-file-0000001 }
combos:
  declared: { models: [lab/bad, lab/well] }
`)
    const gateway = await inProcess({ environment: { GATEWAY_CONFIG: file } })
    onTestFinished(async () => {
      await gateway.close()
      fs.rmSync(directory, { recursive: true })
    })
    const { operator } = gateway
    await operator.call("PATCH", "/api/settings", { comboAutoPromoteEnabled: true })
    await operator.call("POST", "/api/combos", { name: "own", models: ["lab/bad", "lab/well"], strategy: "priority" })
    await sim.rule({ match: { model: "bad" }, script: { status: 503 } })
    for (const name of ["declared", "own"]) {
      const reply = await Http.send(gateway.url, { path: "/v1/chat/completions", body: { model: `combo/${name}`, messages } })
      expect([reply.status, reply.headers["x-gateway-fallback-attempts"]]).toEqual([200, "1"])
      // What the first request began must not stand in the way of the second.
      await operator.call("POST", "/api/resilience/reset", {})
      await operator.call("DELETE", "/api/resilience/model-cooldowns", { all: true })
    }
    const orders = async () => Object.fromEntries((await operator.call<{ combos: ReadonlyArray<Stored & { readonly name: string }> }>("GET", "/api/combos"))
      .combos.map(({ models, name }) => [name, models.map(({ model }) => model)]))
    const seen = await eventually(orders, ({ own }) => own?.[0] === "lab/well", "the new order of the other combo")
    expect(seen["declared"]).toEqual(["lab/bad", "lab/well"])
  })
})
