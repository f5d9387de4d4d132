/** What is said where a request has no target: by the request itself and by its dry run, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { combosOf, type Combos } from "#test/support/combos.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab({ resilience: "awake" })
  combos = combosOf(lab, "none")
  await lab.gateway.operator.call("PATCH", "/api/resilience", { waitForCooldown: { enabled: false } })
})
afterAll(() => lab.close())

interface Explained {
  readonly strategy: string
  readonly combo: string | null
  readonly lastResort: boolean
  readonly targets: ReadonlyArray<{ readonly model: string; readonly position: number | null; readonly skipped: { readonly reason: string; readonly until: string | null } | null }>
  readonly error: { readonly status: number; readonly code: string; readonly message: string; readonly retryAfterSeconds: number | null } | null
}
const explained = (model: string) => lab.gateway.operator.call<Explained>("POST", "/api/routing/explain", { model })
const switched = (ids: ReadonlyArray<string>, isActive: boolean) => Promise.all(ids.map((id) => lab.gateway.operator.changeConnection(id, { isActive })))
const limited = { status: 429, retryAfter: 90, error: { message: "limit" } }

/** The dry run and the request say the same. */
const agrees = async (model: string): Promise<Explained> => {
  const dry = await explained(model)
  const reply = await lab.chat({ model })
  expect([dry.error?.status, dry.error?.code]).toEqual([reply.status, errorIn(reply)["code"]])
  const seconds = reply.headers["retry-after"]
  if (seconds === undefined) expect(dry.error?.retryAfterSeconds).toBeNull()
  // A second may pass between the two.
  else expect(Math.abs((dry.error?.retryAfterSeconds ?? 0) - Number(seconds))).toBeLessThanOrEqual(5)
  return dry
}

describe("a dry run where no target is free", () => {
  it("names the targets, until when they rest, and the error of a request now", async () => {
    const [one, two] = [await combos.place(limited), await combos.place(limited)]
    const model = await combos.combo("priority", [one.model, two.model], { config: { maxRetries: 0 } })
    expect((await explained(model)).error).toBeNull()
    await lab.chat({ model })
    const dry = await agrees(model)
    expect(dry).toMatchObject({ strategy: "priority", combo: model.slice("combo/".length), lastResort: false })
    expect(dry.targets.map(({ position, skipped }) => [position, skipped?.reason])).toEqual([[null, "model-cooldown"], [null, "model-cooldown"]])
    for (const { skipped } of dry.targets) expect(Date.parse(skipped?.until ?? "")).toBeGreaterThan(Date.now())
    const single = await agrees(one.model)
    expect(single).toMatchObject({ strategy: "single", combo: null, error: { status: 429, code: "model_cooldown" } })
    expect(single.targets.map(({ model: name }) => name)).toEqual([one.model])
  })

  it("is an answer where everything is inactive, and a refusal where the request itself is wrong", async () => {
    const one = await combos.place()
    const model = await combos.combo("priority", [one.model])
    await switched(one.connections, false)
    expect((await agrees(model)).error).toMatchObject({ status: 503, code: "ALL_ACCOUNTS_INACTIVE" })
    expect((await agrees(one.model)).error).toMatchObject({ status: 503, code: "ALL_ACCOUNTS_INACTIVE" })
    const wrong = await lab.gateway.operator.raw("POST", "/api/routing/explain", { model: "nobody/knows" })
    expect(wrong.status).toBe(400)
  })
})

describe("a combo without a target", () => {
  it("whose connections are all inactive counts and names each target", async () => {
    const places = [await combos.place(), await combos.place(), await combos.place()]
    const model = await combos.combo("priority", places.map((place) => place.model))
    await switched(places.flatMap(({ connections }) => connections), false)
    const reply = await lab.chat({ model })
    expect([reply.status, reply.headers["x-gateway-combo-pool-size"], reply.headers["x-gateway-combo-excluded"]]).toEqual([503, "3", "3"])
    expect(errorIn(reply)).toMatchObject({
      diagnostics: { poolSize: 3, attempted: 0, excluded: places.map(({ model: name, name: provider }) => ({ provider, model: name, reason: "inactive" })) }
    })
  })

  it("counts a step without a target beside one that was asked in vain", async () => {
    const [off, down] = [await combos.place(), await combos.place({ status: 400, error: { message: "no" } })]
    const model = await combos.combo("priority", [off.model, down.model])
    await switched(off.connections, false)
    expect(errorIn(await lab.chat({ model }))).toMatchObject({
      diagnostics: { poolSize: 2, attempted: 1, excluded: [{ provider: off.name, model: off.model, reason: "inactive" }] }
    })
  })

  it("that has no steps says where to add one", async () => {
    const reply = await lab.chat({ model: await combos.combo("priority", []) })
    expect([reply.status, String(errorIn(reply)["message"])]).toEqual([503, expect.stringContaining("has no steps: add one")])
  })

  it("automatic routing without a known model says what to set, and a defaultModel is enough", async () => {
    await switched(await Promise.all((await lab.gateway.operator.call<{ connections: ReadonlyArray<{ id: string }> }>("GET", "/api/providers")).connections.map(({ id }) => id)), false)
    const place = await combos.place({ text: "automatic" })
    const refused = await Http.send(lab.gateway.url, lab.call({ model: "auto/fast" }))
    expect([refused.status, String(errorIn(refused)["message"])]).toEqual([503, expect.stringContaining("set its defaultModel")])
    await lab.gateway.operator.changeConnection(place.connections[0] ?? "", { defaultModel: place.upstream })
    expect((await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model: "auto/fast", messages: [{ role: "user", content: "Hi." }] } })).status).toBe(200)
  })
})
