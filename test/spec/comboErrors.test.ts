/** What a client hears when a combo was asked in vain, and how the walk waits between targets, over HTTP. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ resilience: "awake" })
})
afterAll(() => lab.close())
afterEach(() => lab.gateway.operator.clearFlags())

let made = 0
interface Made {
  readonly model: string
  /** Public ids of the targets. */
  readonly targets: ReadonlyArray<string>
  readonly calls: (index: number) => ReturnType<Lab["sim"]["entries"]>
}
/** A combo of providers of their own, one per script. */
const combo = async (scripts: ReadonlyArray<Record<string, unknown>>, config: Record<string, unknown> = {}): Promise<Made> => {
  const prefixes: Array<string> = []
  for (const script of scripts) {
    const prefix = `e${++made}`
    await lab.pool(prefix, [`${prefix}-credential-number-0`])
    await lab.sim.rule({ match: { model: `m-${prefix}` }, script })
    prefixes.push(prefix)
  }
  await lab.gateway.operator.call("POST", "/api/combos", { name: `c${made}`, models: prefixes.map((prefix) => `${prefix}/m-${prefix}`), config: { maxRetries: 0, ...config } })
  return { model: `combo/c${made}`, targets: prefixes.map((prefix) => `${prefix}/m-${prefix}`), calls: (index) => lab.sim.entries({ model: `m-${prefixes[index]}` }) }
}
const limited = (retryAfter: number) => ({ status: 429, retryAfter, error: { message: "slow down" } })
const flag = (key: string) => lab.gateway.operator.setFlag(key, "true")

describe("a combo that was asked in vain", () => {
  it("says in headers and body who was asked, who was not, when to come back and what to do", async () => {
    const { model, targets } = await combo([limited(40), limited(7)])
    const reply = await lab.chat({ model })
    expect([reply.status, reply.headers["retry-after"]]).toEqual([429, "7"])
    expect(errorIn(reply)).toMatchObject({
      diagnostics: { poolSize: 2, attempted: 2, attemptOrder: targets.map((target) => ({ model: target, status: 429 })), terminalReason: "all_targets_failed" },
      recovery_hint: { action: "wait", retry_after_seconds: 7 }
    })
    // Clients match a vendor's wording: what the gateway knows stands beside it.
    expect(errorIn(reply)).toMatchObject({ message: "slow down", reset_after: "7s" })
    expect(reply.headers).toMatchObject({
      "x-gateway-combo-pool-size": "2", "x-gateway-combo-attempted": "2", "x-gateway-combo-excluded": "0",
      "x-gateway-combo-terminal-reason": "all_targets_failed", "x-gateway-recovery-action": "wait",
      "x-gateway-recovery-next-step": "Repeat the request in 7 s.", "x-gateway-retry-after-seconds": "7"
    })
  })

  it("whose targets all rest names them, and costs no wire call", async () => {
    const { calls, model } = await combo([limited(125), limited(3_700)])
    await lab.chat({ model })
    const reply = await lab.chat({ model })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([503, "ALL_ACCOUNTS_INACTIVE"])
    expect(errorIn(reply)["message"]).toMatch(/\(reset after 2m( \ds)?\)$|\(reset after 2m 5s\)$/)
    expect(reply.headers).toMatchObject({ "x-gateway-combo-pool-size": "2", "x-gateway-combo-attempted": "0", "x-gateway-combo-excluded": "2", "x-gateway-combo-terminal-reason": "no_target_available" })
    expect([(await calls(0)).length, (await calls(1)).length]).toEqual([1, 1])
  })

  it("a single model's error has no combo headers", async () => {
    await lab.sim.rule({ match: { model: "alone" }, script: { status: 503 } })
    const reply = await lab.chat({ model: "alone" })
    expect(reply.status).toBe(503)
    expect(Object.keys(reply.headers).filter((name) => name.startsWith("x-gateway-combo") || name.startsWith("x-gateway-recovery"))).toEqual([])
  })
})

describe("what a combo's error tells the client to do", () => {
  const hintOf = async (model: string, headers: Record<string, string> = {}) => {
    const reply = await lab.chat({ model }, headers)
    const hint = errorIn(reply)["recovery_hint"] as { readonly action: string; readonly retry_after_seconds: number | null; readonly next_step: string }
    expect(reply.headers).toMatchObject({ "x-gateway-recovery-action": hint.action, "x-gateway-recovery-next-step": hint.next_step })
    expect(reply.headers["x-gateway-retry-after-seconds"]).toBe(hint.retry_after_seconds === null ? undefined : String(hint.retry_after_seconds))
    return hint
  }
  const inactive = async () => {
    const one = await combo([{}])
    const { connections } = await lab.gateway.operator.call<{ connections: ReadonlyArray<{ id: string; name: string }> }>("GET", "/api/providers")
    const prefix = one.targets[0]?.split("/")[0] ?? ""
    await lab.gateway.operator.changeConnection(connections.find(({ name }) => name === `${prefix}-0`)?.id ?? "", { isActive: false })
    return one.model
  }
  /** A free connection with a model of its own, which automatic routing may pick. */
  const spare = async () => {
    const prefix = `spare${++made}`
    const [id = ""] = await lab.pool(prefix, [`${prefix}-credential-number-0`])
    await lab.gateway.operator.changeConnection(id, { defaultModel: "spare" })
    return id
  }

  it("without automatic routing: waits whose end is known, repeats what passes, and another model where nothing does", async () => {
    expect(await hintOf((await combo([limited(7)])).model)).toMatchObject({ action: "wait", retry_after_seconds: 7 })
    expect(await hintOf((await combo([limited(400)])).model)).toMatchObject({ action: "wait", retry_after_seconds: 400 })
    expect(await hintOf((await combo([limited(9_000)])).model)).toMatchObject({ action: "switch-combo", retry_after_seconds: 3_600 })
    expect(await hintOf((await combo([{ status: 503 }])).model)).toMatchObject({ action: "retry", retry_after_seconds: null })
    expect(await hintOf((await combo([{ status: 400 }])).model)).toMatchObject({ action: "switch-combo", retry_after_seconds: null })
    expect(await hintOf(await inactive())).toMatchObject({ action: "switch-combo", retry_after_seconds: null })
  })

  it("try-auto where automatic routing leads elsewhere and neither a short wait nor a repetition helps", async () => {
    const id = await spare()
    const { model: far } = await combo([limited(400)])
    expect(await hintOf(far)).toMatchObject({ action: "try-auto", retry_after_seconds: 400, next_step: expect.stringContaining("'auto'") as unknown })
    // Nobody is asked any more, and the advice stays.
    const again = await hintOf(far)
    expect([again.action, (again.retry_after_seconds ?? 0) > 300]).toEqual(["try-auto", true])
    expect(await hintOf(await inactive())).toMatchObject({ action: "try-auto", retry_after_seconds: null })
    expect(await hintOf((await combo([{ status: 400 }])).model)).toMatchObject({ action: "try-auto" })
    expect(await hintOf((await combo([limited(7)])).model)).toMatchObject({ action: "wait" })
    expect(await hintOf((await combo([{ status: 503 }])).model)).toMatchObject({ action: "retry" })
    expect((await lab.chat({ model: "auto" })).status).toBe(200)
    // A key that may not ask it is not sent there.
    const key = await lab.gateway.operator.createKey("combos only", { allowedCombos: [far.slice("combo/".length)] })
    expect(await hintOf(far, { authorization: `Bearer ${key.key}` })).toMatchObject({ action: "wait" })
    await lab.gateway.operator.changeConnection(id, { isActive: false })
    expect(await hintOf(far)).toMatchObject({ action: "wait" })
  })
})

describe("Retry-After of a combo", () => {
  it("is 1 s when nobody knows, and the body says nothing of its source", async () => {
    const { model } = await combo([{ status: 503 }])
    const reply = await lab.chat({ model })
    expect([reply.status, reply.headers["retry-after"]]).toEqual([503, "1"])
    expect(errorIn(reply)["message"]).not.toContain("reset after")
    expect(errorIn(reply)).not.toHaveProperty("retry_after_provenance")
  })

  it("with RETRY_AFTER_PROVENANCE_ENABLED is left out then, and the body says whether a time was known", async () => {
    await flag("RETRY_AFTER_PROVENANCE_ENABLED")
    const unknown = await lab.chat({ model: (await combo([{ status: 503 }])).model })
    expect([unknown.headers["retry-after"], errorIn(unknown)["retry_after_provenance"]]).toEqual([undefined, "none"])
    const known = await lab.chat({ model: (await combo([limited(9)])).model })
    expect([known.headers["retry-after"], errorIn(known)["retry_after_provenance"]]).toEqual(["9", "signal"])
    const other = await lab.chat({ model: (await combo([{ status: 402 }])).model })
    expect(errorIn(other)).not.toHaveProperty("retry_after_provenance")
  })
})

describe("PROTECTED_PRIORITY_INFRA_502_ENABLED", () => {
  it("makes a 502 of what is no quota's fault", async () => {
    const { model: broken } = await combo([{ status: 503 }])
    const { model: slow } = await combo([{ status: 504 }])
    const { model: busy } = await combo([limited(5)])
    expect((await lab.chat({ model: broken })).status).toBe(503)
    await lab.gateway.operator.call("POST", "/api/resilience/reset")
    await flag("PROTECTED_PRIORITY_INFRA_502_ENABLED")
    expect((await lab.chat({ model: broken })).status).toBe(502)
    expect((await lab.chat({ model: slow })).status).toBe(502)
    expect((await lab.chat({ model: busy })).status).toBe(429)
  })
})

/** Longer than a busy machine pauses by itself. */
const PAUSE_MS = 1_000

describe("the pause before the next target", () => {
  /** ms between the end of the first call and the beginning of the second. */
  const pauseAfter = async (script: Record<string, unknown>): Promise<number> => {
    const { calls, model } = await combo([script, { text: "two" }], { fallbackDelayMs: PAUSE_MS })
    expect((await lab.chat({ model })).status).toBe(200)
    const [[first], [second]] = [await calls(0), await calls(1)]
    return (second?.at ?? 0) - (first?.endedAt ?? 0)
  }

  it("is made after 502, 503 and 504, unless the failed one rests for more than 5 s", async () => {
    for (const status of [502, 503, 504]) expect(await pauseAfter({ status })).toBeGreaterThanOrEqual(PAUSE_MS - 10)
    expect(await pauseAfter({ status: 503, retryAfter: 30 })).toBeLessThan(PAUSE_MS - 10)
    expect(await pauseAfter({ status: 500 })).toBeLessThan(PAUSE_MS - 10)
  })
})

describe("a client that leaves between two calls", () => {
  it("is counted as one that left, not with the last call's status", async () => {
    const requestId = crypto.randomUUID()
    const count = async (status: string): Promise<number> => {
      const { text } = await Http.send(lab.gateway.url, { path: "/metrics" })
      return [...text.matchAll(new RegExp(`^gateway_requests_total\\{[^}]*status="${status}"[^}]*\\} (\\d+)`, "gm"))].reduce((sum, [, value]) => sum + Number(value), 0)
    }
    const { model } = await combo([{ status: 502 }, { text: "never asked" }], { fallbackDelayMs: 20_000 })
    const [left, failed] = [await count("499"), await count("502")]
    const { request, response } = Http.open(lab.gateway.url, lab.call({ model }, { "x-request-id": requestId }))
    response.catch(() => undefined)
    const rows = () => lab.rows({ headers: { "x-gateway-request-id": requestId } })
    await eventually(rows, ({ length }) => length === 1, "the failed call's row")
    request.destroy()
    await eventually(() => count("499"), (seen) => seen === left + 1, "the count")
    expect(await count("502")).toBe(failed)
    expect((await rows()).map(({ errorCode, outcome }) => [outcome, errorCode])).toEqual([["upstream-status", "bad_gateway"]])
  })
})
