import type { Ollama } from "ollama"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"
import { remembering } from "./Driver.ts"
import { client, ollama, ResponseError } from "./ollama.driver.ts"
import { scenarios } from "./scenarios.ts"

let matrix: Matrix
let local: Ollama
beforeAll(async () => {
  matrix = await startMatrix()
  local = client(matrix.url, matrix.key)
})
afterAll(() => matrix.close())

scenarios(ollama, () => matrix)

const face = "local-model-server"

describe.each(families.map((family) => ({ family, name: family.name })))("towards $name", ({ family }) => {
  it("what only a server's own memory is asked for is left out elsewhere, and the client is told", async () => {
    const model = await matrix.model(family, face, "memory")
    const { fetch, header } = remembering()
    const reply = await client(matrix.url, matrix.key, fetch).chat({
      model: model.id, messages: [{ role: "user", content: "hello" }], keep_alive: "5m", options: { num_ctx: 4096, temperature: 0.5 }
    })
    expect(reply).toMatchObject({ message: { role: "assistant", content: "hello" }, done: true, done_reason: "stop" })
    const omitted = header("x-gateway-omitted").split(", ")
    for (const field of ["keep_alive", "options.num_ctx"]) expect(omitted.includes(field)).toBe(family.name !== "local-model-server")
  })

  it("a level of thinking and an abort of the whole client", async () => {
    const model = await matrix.model(family, face, "level", { tokens: 400, paceMs: 10 })
    const own = client(matrix.url, matrix.key)
    let pieces = 0
    const error: unknown = await (async () => {
      for await (const part of await own.chat({ model: model.id, messages: [{ role: "user", content: "x" }], stream: true, think: "high" })) {
        if (part.message.content !== "" && ++pieces === 3) own.abort()
      }
    })().catch((cause: unknown) => cause)
    expect(error).toMatchObject({ name: "AbortError" })
    expect((await matrix.sim.ended({ model: model.name }))[0]?.outcome).toBe("client-aborted")
    // gpt-5.1 and its like think; what a model cannot do is left out.
    expect((await matrix.arrived(family, model.name))[0]?.thinks).toBe(true)
  })
})

describe("beside the conversations", () => {
  it("list, show and version answer as a server of its own would", async () => {
    const { models } = await local.list()
    const names = models.map((model) => model.name)
    for (const prefix of ["chat", "msgs", "resp"]) expect(names).toContain(`${prefix}/listed`)
    expect((await local.version()).version).toMatch(/^\d+\.\d+/)
    expect(await local.show({ model: "msgs/listed" })).toMatchObject({ details: {}, capabilities: expect.arrayContaining(["completion"]) as unknown })
    const unknown: unknown = await local.show({ model: "msgs/none" }).catch((cause: unknown) => cause)
    expect(unknown).toBeInstanceOf(ResponseError)
    expect(unknown).toMatchObject({ status_code: 404, message: expect.stringContaining("msgs/none") as unknown })
    await expect(client(matrix.url, "sk-wrong").list()).rejects.toMatchObject({ status_code: 401, message: expect.stringMatching(/key/i) as unknown })
  })
})
