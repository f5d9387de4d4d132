/** Engines over whole conversations and long results, over HTTP: what every upstream is told, by mode, by header and in a pipeline. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { type Family, families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())
afterEach(() => put({ enabled: false, defaultMode: "off", ultra: { enabled: false }, mcpAccessibility: { enabled: true } }))

const put = (change: Record<string, unknown>) => matrix.gateway.operator.call("PUT", "/api/settings/compression", change)
const familyOf = (name: string): Family => families.find((one) => one.name === name) as Family
const send = async (path: string, body: Record<string, unknown>, header?: string) => {
  const reply = await Http.send(matrix.gateway.url, { path, headers: { authorization: `Bearer ${matrix.key}`, ...header === undefined ? {} : { "x-gateway-compression": header } }, body })
  expect(reply.status, reply.text).toBe(200)
  return reply.headers["x-gateway-compression"]
}
const told = async (name: string) => JSON.parse(JSON.stringify((await matrix.entries(name)).at(-1)?.body ?? {})) as { readonly messages: ReadonlyArray<{ readonly content: unknown }> }
const contents = async (name: string): Promise<ReadonlyArray<unknown>> => (await told(name)).messages.map(({ content }) => content)

const answer = "We looked at the tests of the file. They are in a good state. The rest of the house is fine, too. We must not change `the rules`. There is a lot of it."
const summary = "We looked at tests of file. We must not change `the rules`.\n[Sentences of this older message are left out.]"
const talk = (turns: number) => Array.from({ length: turns }, () => [{ role: "assistant", content: answer }, { role: "user", content: "Go on." }]).flat()
const call = (id: string, name: string, args: object) => ({ role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(args) } }] })

describe("older turns", () => {
  it.each(families.map((family) => [family.name, family] as const))("are said shorter in mode aggressive, and calls stay beside their results, to %s", async (_name, family) => {
    await put({ enabled: true, defaultMode: "aggressive" })
    const model = await matrix.model(family, "chat-completions", "aged")
    const file = "The file of the house.  \n\n\n\n\tthe text"
    const body = { model: model.id, messages: [{ role: "user", content: "Hi." }, ...talk(3), call("call_1", "read_file", { path: "a" }), { role: "tool", tool_call_id: "call_1", content: file }, ...talk(6)] }
    expect(await send("/v1/chat/completions", body)).toBe("aggressive; source=default")
    const text = JSON.stringify(await told(model.name))
    for (const [part, times] of [[JSON.stringify(summary).slice(1, -1), 3], [JSON.stringify(file).slice(1, -1), 1], ["There is a lot of it.", 5]] as const) expect([part, text.split(part).length - 1], text).toEqual([part, times])
  })

  it("keep the beginning of a conversation the same for four turns", async () => {
    await put({ enabled: true, defaultMode: "aggressive" })
    const model = await matrix.model(familyOf("chat-completions"), "chat-completions", "steady")
    const said: Array<ReadonlyArray<unknown>> = []
    for (const turns of [8, 9, 10, 11, 12]) {
      await send("/v1/chat/completions", { model: model.id, messages: talk(turns) })
      said.push(await contents(model.name))
    }
    const [first = [], ...others] = said
    expect(others.map((one) => one.slice(0, first.length).every((content, i) => content === first[i]))).toEqual([true, true, true, false])
  })

  it("stay where the client marked a prefix for the vendor's cache: mode standard takes their place", async () => {
    await put({ enabled: true, defaultMode: "aggressive" })
    const model = await matrix.model(familyOf("messages"), "messages", "marked")
    const messages = [{ role: "user", content: [{ type: "text", text: "Hi there.", cache_control: { type: "ephemeral" } }] }, ...talk(9)]
    expect(await send("/v1/messages", { model: model.id, max_tokens: 9, messages })).toBe("aggressive; source=default")
    expect((await contents(model.name)).slice(1)).toEqual(talk(9).map(({ content }) => content))
  })

  it("lose words in mode ultra, once it is switched on", async () => {
    const model = await matrix.model(familyOf("chat-completions"), "chat-completions", "ultra")
    await put({ enabled: true, defaultMode: "ultra" })
    expect(await send("/v1/chat/completions", { model: model.id, messages: talk(8) })).toBe("off; source=default")
    await put({ ultra: { enabled: true } })
    expect(await send("/v1/chat/completions", { model: model.id, messages: talk(8) })).toBe("ultra; source=default")
    const said = await contents(model.name)
    expect([said[0], said.at(-2)]).toEqual(["looked tests of file. in good state. rest of house fine. must not change `the rules`. lot of.", answer])
  })
})

describe("long results", () => {
  const rows = JSON.stringify(Array.from({ length: 100 }, (_, id) => ({ id, name: `the row ${id}` })))
  const page = `- main:\n${Array.from({ length: 200 }, (_, i) => `  - listitem "Item ${i}" [ref=e${i}]`).join("\n")}`

  it("are shorter by engines that the header or a pipeline names, unless a client may edit from them", async () => {
    const model = await matrix.model(familyOf("messages"), "chat-completions", "results")
    const messages = [
      { role: "user", content: "Look." }, call("a", "list_issues", {}), { role: "tool", tool_call_id: "a", content: rows }, call("b", "read_file", { path: "rows.json" }), { role: "tool", tool_call_id: "b", content: rows },
      call("c", "browser_snapshot", {}), { role: "tool", tool_call_id: "c", content: page }
    ]
    const ask = async (header: string) => {
      const mode = await send("/v1/chat/completions", { model: model.id, messages }, header)
      const text = JSON.stringify(await told(model.name))
      return [mode, text.split("the row 50").length - 1, text.split("Item 50").length - 1]
    }
    await put({ enabled: true })
    expect(await ask("engine:ionizer")).toEqual(["stacked; source=request-header", 1, 1])
    expect(await ask("engine:mcpAccessibility")).toEqual(["stacked; source=request-header", 2, 0])
    await matrix.gateway.operator.call("POST", "/api/context/combos", { name: "Results", pipeline: [{ engine: "ionizer" }, { engine: "mcpAccessibility" }, { engine: "session-dedup" }] })
    expect(await ask("results")).toEqual(["stacked; source=request-header", 1, 0])
    await put({ mcpAccessibility: { enabled: false } })
    expect(await ask("engine:mcpAccessibility")).toEqual(["off; source=off", 2, 1])
    const { engineBreakdown } = await matrix.gateway.operator.call<{ engineBreakdown: Record<string, { tokensSaved: number }> }>("GET", "/api/analytics/compression")
    expect(["ionizer", "mcpAccessibility"].map((engine) => (engineBreakdown[engine]?.tokensSaved ?? 0) > 0)).toEqual([true, true])
  })
})
