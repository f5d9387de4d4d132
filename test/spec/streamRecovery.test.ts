/** The stream recovery flags over HTTP. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { contentOf, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterEach(() => lab.gateway.operator.clearFlags())
afterAll(() => lab.close())

const flag = (key: string) => lab.gateway.operator.setFlag(key, "true")
describe("STREAM_RECOVERY_ENABLED", () => {
  it.each(["endAfter", "closeAfter", "resetAfter"])("a stream that is cut in its first bytes (%s) is repeated before any of it is released", async (fault) => {
    await flag("STREAM_RECOVERY_ENABLED")
    const [prefix, model] = [`recover-${fault.toLowerCase()}`, `cut-once-${fault}`]
    await lab.pool(prefix, ["recover1-credential"])
    await lab.sim.rule({ match: { model }, times: 1, script: { tokens: 20, [fault]: { frames: 3 } } })
    await lab.sim.rule({ match: { model }, script: { tokens: 20 } })
    const reply = await lab.chat({ model: `${prefix}/${model}`, stream: true })
    expect([reply.status, reply.headers["x-gateway-fallback-attempts"]]).toEqual([200, "1"])
    expect(reply.text).not.toContain('"error"')
    expect(reply.text.match(/\[DONE\]/g)?.length).toBe(1)
    expect((await lab.rows(reply)).map((row) => row.outcome)).toEqual(["upstream-reset", "completed"])
  })

  it("without the flag the cut is seen", async () => {
    await lab.pool("recover2", ["recover2-credential"])
    await lab.sim.rule({ match: { model: "cut-always" }, script: { tokens: 20, endAfter: { frames: 3 } } })
    const reply = await lab.chat({ model: "recover2/cut-always", stream: true })
    expect(reply.text).toContain('"upstream_reset"')
  })
})

describe("STREAM_RECOVERY_MIDSTREAM_ENABLED", () => {
  it("an answer that broke off is gone on with by a second call, and reads as one", async () => {
    await flag("STREAM_RECOVERY_MIDSTREAM_ENABLED")
    await lab.pool("recover3", ["recover3-credential"])
    await lab.sim.rule({ match: { model: "mid" }, times: 1, script: { text: "The quick brown fox jumps over the lazy dog.", endAfter: { frames: 5 } } })
    await lab.sim.rule({ match: { model: "mid" }, script: { text: "and so it went on." } })
    const reply = await lab.chat({ model: "recover3/mid", stream: true, stream_options: { include_usage: true } })
    expect(reply.text).not.toContain('"error"')
    expect(reply.text.match(/\[DONE\]/g)?.length).toBe(1)
    expect(reply.text.match(/"finish_reason":"stop"/g)?.length).toBe(1)
    const text = contentOf(reply.text)
    expect(text).toMatch(/^The .*and so it went on\.$/)
    const rows = await lab.rows(reply)
    expect(rows.map((row) => row.outcome)).toEqual(["upstream-reset", "completed"])
  })

  it("a bounded number of times: then the error frame and one [DONE]", async () => {
    await flag("STREAM_RECOVERY_MIDSTREAM_ENABLED")
    await lab.pool("recover4", ["recover4-credential"])
    await lab.sim.rule({ match: { model: "never-ends" }, script: { tokens: 20, endAfter: { frames: 3 } } })
    const reply = await lab.chat({ model: "recover4/never-ends", stream: true })
    expect(reply.text.match(/\[DONE\]/g)?.length).toBe(1)
    expect(reply.text).toContain('"upstream_reset"')
    expect((await lab.rows(reply)).length).toBe(3)
  })
})
