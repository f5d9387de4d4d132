/** Further steps of compression (rtkConfig, aggressive.toolStrategies), over HTTP: what the upstream is told, and what the operator can read. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { type Family, families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())
afterEach(() => put({
  enabled: false, defaultMode: "off", rtkConfig: { enableGrouping: false, applyToCodeBlocks: false, applyToAssistantMessages: false, stripCodeComments: false },
  aggressive: { toolStrategies: { fileContent: false, grepSearch: false, errorMessage: false } }
}))

const put = (change: Record<string, unknown>) => matrix.gateway.operator.call("PUT", "/api/settings/compression", change)
const familyOf = (name: string): Family => families.find((one) => one.name === name) as Family
const send = async (path: string, body: Record<string, unknown>) => {
  const reply = await Http.send(matrix.gateway.url, { path, headers: { authorization: `Bearer ${matrix.key}` }, body })
  expect(reply.status, reply.text).toBe(200)
  return reply
}
const told = async (name: string): Promise<string> => JSON.stringify((await matrix.entries(name)).at(-1)?.body ?? {})
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)
const call = (id: string, name: string, args: object) => ({ role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(args) } }] })
const answered = (id: string, content: string) => ({ role: "tool", tool_call_id: id, content })
const talk = (turns: number) => Array.from({ length: turns }, () => [{ role: "assistant", content: "Yes." }, { role: "user", content: "Go on." }]).flat()

const found = "src/a.ts:1:a\nsrc/a.ts:22:b\nsrc/a.ts:3:c"
const grouped = "src/a.ts:\n1:a\n22:b\n3:c"
const pasted = "Look:\n```ts\n// of x\nconst x = 1\n```\n```console\n$ git status\nOn branch main\n  (use \"git add <file>...\" to update)\n```"
const shortPasted = "Look:\n```ts\nconst x = 1\n```\n```console\n$ git status\nOn branch main\n```"
const file = "export const the = 1\n".repeat(20)

describe("further steps of compression", () => {
  it.each(families.map((family) => [family.name, family] as const))("group matches and shorten pasted code where the operator says so, to %s", async (_name, family) => {
    const model = await matrix.model(family, "chat-completions", "further")
    const body = { model: model.id, messages: [{ role: "user", content: pasted }, call("call_1", "bash", { command: "rg -n x src" }), answered("call_1", found)] }
    await put({ enabled: true, defaultMode: "rtk" })
    await send("/v1/chat/completions", body)
    for (const part of [found, pasted]) expect(await told(model.name)).toContain(inJson(part))
    await put({ rtkConfig: { enableGrouping: true, applyToCodeBlocks: true, stripCodeComments: true } })
    expect((await send("/v1/chat/completions", body)).headers["x-gateway-compression"]).toBe("rtk; source=default")
    for (const part of [grouped, shortPasted]) expect(await told(model.name)).toContain(inJson(part))
  })

  it("name an older content of a file that was read again, in mode aggressive", async () => {
    const model = await matrix.model(familyOf("chat-completions"), "chat-completions", "reads")
    const read = (id: string, content: string) => [call(id, "read_file", { path: "a" }), answered(id, content)]
    await put({ enabled: true, defaultMode: "aggressive", aggressive: { toolStrategies: { fileContent: true }, minSavingsThreshold: 0 } })
    await send("/v1/chat/completions", { model: model.id, messages: [{ role: "user", content: "Hi." }, ...read("call_1", file), ...read("call_2", `${file}// new`), ...talk(6)] })
    const text = await told(model.name)
    expect(text.split(inJson(file)).length - 1).toBe(1)
    expect(text).toContain(`[An earlier content of this file, ${file.length} characters: a later result of the same call holds it.]`)
    expect(text).toContain(inJson(`${file}// new`))
  })

  it("are tried in a preview without being stored", async () => {
    const preview = await matrix.gateway.operator.call<{ readonly compressed: ReadonlyArray<unknown>; readonly techniquesUsed: ReadonlyArray<string> }>("POST", "/api/compression/preview", {
      mode: "rtk", config: { rtkConfig: { applyToCodeBlocks: true, stripCodeComments: true } }, messages: [{ role: "user", content: pasted }]
    })
    expect([preview.compressed, preview.techniquesUsed]).toEqual([[{ role: "user", content: shortPasted }], ["rtk:fenced_code"]])
    expect(await matrix.gateway.operator.call("GET", "/api/context/rtk/config")).toMatchObject({ applyToCodeBlocks: false, stripCodeComments: false })
  })
})
