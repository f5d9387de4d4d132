/** Why a request went where it went, told at once: the header X-Gateway-Trace, and what an ensemble says, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answerOf, type Combos, combosOf, type Place } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab({ resilience: "awake" })
  combos = combosOf(lab, "tr")
  // What rests by our guess rests for the whole file, and nobody waits for it.
  await lab.gateway.operator.call("PATCH", "/api/resilience", {
    connectionCooldown: { local: { baseCooldownMs: 600_000 } }, providerBreaker: { local: { degradationThreshold: 50, failureThreshold: 100 } },
    waitForCooldown: { enabled: false }
  })
})
afterAll(() => lab.close())

const explain = { "x-gateway-explain": "true" }
const once = { config: { maxRetries: 0 } }
const broken = (message: string) => ({ status: 502, error: { message } })
const limited = { status: 429, retryAfter: 900, error: { message: "slow down" } }
const modelsOf = (...places: ReadonlyArray<Place>) => places.map(({ model }) => model)

interface Trace {
  readonly order: ReadonlyArray<string>
  readonly failed?: ReadonlyArray<{ readonly target: string; readonly status: number; readonly code: string }>
  readonly skipped: ReadonlyArray<{ readonly target: string; readonly reason: string; readonly until: string | null }>
}
const traceIn = (reply: Http.Reply): Trace => JSON.parse(reply.headers["x-gateway-trace"] ?? "null") as Trace
/** A place whose only connection rests by our own guess; from then on it would answer. */
const resting = async (): Promise<Place> => {
  const place = await combos.place()
  await lab.sim.rule({ id: place.name, match: { model: place.upstream, nth: 1 }, script: { status: 500, error: { message: "a moment" } } })
  await lab.sim.rule({ id: `${place.name}-well`, match: { model: place.upstream }, script: { text: place.name } })
  expect((await lab.chat({ model: place.model })).status).toBe(500)
  return place
}
/** One that rests by its upstream's word. */
const drained = async (): Promise<Place> => {
  const place = await combos.place(limited)
  expect((await lab.chat({ model: place.model })).status).toBe(429)
  return place
}

describe("X-Gateway-Trace", () => {
  it.each([false, true])("of an answer says who failed before it and who was left out until when, stream: %s", async (stream) => {
    const [out, bad, good] = [await drained(), await combos.place(broken("not now")), await combos.place()]
    const reply = await lab.chat({ model: await combos.combo("priority", modelsOf(out, bad, good), once), stream }, explain)
    expect(reply.status).toBe(200)
    expect(traceIn(reply)).toMatchObject({
      strategy: "priority", order: modelsOf(bad, good), failed: [{ target: bad.model, status: 502, code: "bad_gateway" }],
      skipped: [{ target: out.model, reason: "model-cooldown" }]
    })
    expect(Date.parse(traceIn(reply).skipped[0]?.until ?? "")).toBeGreaterThan(Date.now())
  })

  it("stands on errors, too", async () => {
    const [out, a, b] = [await drained(), await combos.place(broken("boom a")), await combos.place({ status: 500, error: { message: "boom b" } })]
    const reply = await lab.chat({ model: await combos.combo("priority", modelsOf(out, a, b), once) }, explain)
    expect(reply.status).toBe(500)
    const { failed, skipped } = traceIn(reply)
    expect(failed).toEqual([{ target: a.model, status: 502, code: "bad_gateway" }, { target: b.model, status: 500, code: "internal_server_error" }])
    expect(skipped.map(({ reason, target }) => [target, reason])).toEqual([[out.model, "model-cooldown"]])
  })

  it("stands on the refusal of a request that nobody could be asked for", async () => {
    const [a, b] = [await drained(), await drained()]
    const reply = await lab.chat({ model: await combos.combo("priority", modelsOf(a, b)) }, explain)
    expect(reply.status).toBe(503)
    expect(traceIn(reply).skipped.map(({ reason, target }) => [target, reason])).toEqual(modelsOf(a, b).map((model) => [model, "model-cooldown"]))
  })

  it("is only there when asked for", async () => {
    const [bad, good] = [await combos.place(broken("no")), await combos.place()]
    for (const places of [[bad, good], [bad]]) {
      expect((await lab.chat({ model: await combos.combo("priority", modelsOf(...places), once) })).headers["x-gateway-trace"]).toBeUndefined()
    }
  })

  it("of an ensemble tells of every member", async () => {
    const [a, b, judge] = [await combos.place(broken("boom a")), await combos.place(), await combos.place(broken("no verdict"))]
    const c = await combos.place()
    const reply = await lab.chat({ model: await combos.combo("fusion", modelsOf(a, b, c), { config: { ...once.config, judgeModel: judge.model } }) }, explain)
    expect([reply.status, answerOf(reply)]).toEqual([200, b.name])
    expect(new Set(traceIn(reply).failed?.map(({ target }) => target))).toEqual(new Set([a.model, judge.model]))
  })
})

describe("an ensemble that was asked in vain", () => {
  it.each(["fusion", "debate"])("%s names what each member said, with diagnostics, a hint and the headers of a combo", async (strategy) => {
    const [a, b, out] = [await combos.place(broken("boom a")), await combos.place(broken("boom b")), await drained()]
    const reply = await lab.chat({ model: await combos.combo(strategy, modelsOf(a, b, out), once) }, explain)
    expect(reply.status).toBe(503)
    const error = errorIn(reply)
    expect(error["message"]).toContain(`answered: ${a.model}: boom a; ${b.model}: boom b; ${out.model}: `)
    expect(error["diagnostics"]).toMatchObject({ poolSize: 3, attempted: 2, excluded: [{ model: out.model, reason: "model-cooldown" }], terminalReason: "all_targets_failed" })
    expect(error["recovery_hint"]).toMatchObject({ action: expect.any(String) as string })
    expect(reply.headers).toMatchObject({
      "x-gateway-combo-pool-size": "3", "x-gateway-combo-attempted": "2", "x-gateway-combo-excluded": "1", "x-gateway-combo-terminal-reason": "all_targets_failed"
    })
    expect(traceIn(reply).failed?.length).toBe(2)
  })

  it.each([0, 1])("a pipeline whose step %s fails says so in the same form", async (failing) => {
    const places = [await combos.place(failing === 0 ? broken("stuck") : {}), await combos.place(failing === 1 ? broken("stuck") : {})]
    const reply = await lab.chat({ model: await combos.combo("pipeline", modelsOf(...places), once) }, explain)
    expect([reply.status, errorIn(reply)["code"], errorIn(reply)["step"]]).toEqual([502, "pipeline_step_failed", failing + 1])
    expect(errorIn(reply)["diagnostics"]).toMatchObject({ poolSize: 2, attempted: failing + 1, terminalReason: "all_targets_failed" })
    expect(reply.headers).toMatchObject({ "x-gateway-combo-attempted": String(failing + 1), "x-gateway-recovery-action": expect.any(String) as string })
    expect(traceIn(reply).failed?.map(({ target }) => target)).toEqual([places[failing]?.model])
  })
})

describe("a panel member that rests by our own guess", () => {
  it("is left out while enough others are free, as the decision says", async () => {
    const [tired, a, b] = [await resting(), await combos.place(), await combos.place()]
    const reply = await lab.chat({ model: await combos.combo("fusion", modelsOf(tired, a, b)) }, explain)
    expect([reply.status, answerOf(reply)]).toEqual([200, a.name])
    expect((await combos.seen(tired)).length).toBe(1)
    expect(traceIn(reply).skipped.map(({ target }) => target)).toEqual([tired.model])
  })

  it("is asked where the panel would be too small without it", async () => {
    const [tired, a] = [await resting(), await combos.place()]
    const reply = await lab.chat({ model: await combos.combo("fusion", modelsOf(tired, a)) }, explain)
    expect(reply.status).toBe(200)
    expect((await combos.seen(tired)).length).toBeGreaterThan(1)
    expect(traceIn(reply).skipped).toEqual([])
  })
})
