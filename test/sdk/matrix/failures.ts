/** Errors as the client's own classes, and a client that leaves. */
import { expect, it } from "vitest"
import type { Case } from "./Driver.ts"

export const failures = ({ driver, family, matrix }: Case): void => {
  const { face } = driver
  const failing = (run: () => Promise<unknown>): Promise<unknown> => run().then(() => null, (error: unknown) => error)

  it("an upstream's 400, 404, 429 with Retry-After and 500 are the client's classes, streamed or not", async () => {
    for (const status of [400, 404, 429, 500]) {
      for (const stream of [false, true]) {
        const model = await matrix().model(family, face, `error-${status}-${stream}`, {
          status, ...(status === 429 ? { retryAfter: 3 } : {}), ...(status === 400 ? { error: { message: "temperature: must be cooler" } } : {})
        })
        const talk = driver.open(matrix(), { model: model.id })
        talk.say("x")
        const error = await failing(() => talk.ask(stream))
        expect(error).toBeInstanceOf(driver.errorClass(status))
        expect(driver.statusOf(error)).toBe(status)
        if (status === 400) expect((error as Error).message).toContain("temperature: must be cooler")
        if (status === 429) expect(talk.header("retry-after")).toBe("3")
        expect((await matrix().entries(model.name)).length).toBe(1)
      }
    }
  })

  it("a wrong key is a 401, and nothing is sent", async () => {
    const model = await matrix().model(family, face, `key`)
    for (const stream of [false, true]) {
      const talk = driver.open(matrix(), { model: model.id }, "sk-wrong")
      talk.say("x")
      const error = await failing(() => talk.ask(stream))
      expect(error).toBeInstanceOf(driver.errorClass(401))
      expect(driver.statusOf(error)).toBe(401)
    }
    expect(await matrix().entries(model.name)).toEqual([])
  })

  it.each([
    ["an error inside a stream", "broken", { tokens: 30, malformed: [{ kind: "error", at: 12 }] }],
    ["a stream that ends before its end", "cut", { tokens: 30, endAfter: { frames: 12 } }],
    ["a connection that closes in a stream", "reset", { tokens: 30, resetAfter: { frames: 12 } }]
  ] as const)("%s is the client's error, after the text that came before it", async (_, label, script) => {
    const model = await matrix().model(family, face, label, script)
    const talk = driver.open(matrix(), { model: model.id })
    talk.say("x")
    let text = ""
    let finish: string | null = null
    const error = await failing(async () => {
      const heard = await talk.ask(true, (piece) => { text += piece })
      finish = heard.finish
    })
    expect(text.length).toBeGreaterThan(0)
    if (driver.broken === null) {
      expect(error).toBeInstanceOf(driver.streamError)
      // The gateway's words and no complaint of the client's own parser.
      expect((error as Error).message).toMatch(/provider|upstream|overloaded|server had an error|error was encountered/i)
    } else expect([error, finish]).toEqual([null, driver.broken])
    const [row] = await matrix().rowsOf(model.name, 1)
    expect(row).toMatchObject({ final: true, sourceFormat: face, targetFormat: family.name })
    expect(row?.outcome).not.toBe("completed")
  })

  it("a client that leaves in the middle ends the upstream's call; its row is a client-abort", async () => {
    const model = await matrix().model(family, face, `abort`, { tokens: 500, paceMs: 10 })
    const talk = driver.open(matrix(), { model: model.id })
    talk.say("x")
    const controller = new AbortController()
    let pieces = 0
    await failing(() => talk.ask(true, () => {
      if (++pieces === 3) controller.abort()
    }, controller.signal))
    expect(pieces).toBeLessThan(100)
    const [entry] = await matrix().sim.ended({ model: model.name })
    expect(entry?.outcome).toBe("client-aborted")
    const [row] = await matrix().rowsOf(model.name, 1)
    expect(row).toMatchObject({ outcome: "client-abort", status: 499, sourceFormat: face, targetFormat: family.name })
    expect(row?.tokensOut).toBeGreaterThan(0)
  })
}
