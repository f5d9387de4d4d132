/** Coding agents as their vendors ship them, through the gateway: over their own family and foreign ones, without the network. */
import * as fs from "node:fs"
import * as path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { families, type Family, type Matrix, startMatrix } from "#test/support/families.ts"
import { type Agent, areInstalled, codex, codexHttp, gemini, makeHome, pi, qwen, type Ran, run } from "./agents.ts"

/** Which family each run of an agent reaches, for one format it speaks: its own, and one that is foreign to it. */
const pairs: ReadonlyArray<readonly [agent: Agent, face: FormatName, family: Family["name"]]> = [
  [pi, "chat-completions", "chat-completions"], [pi, "responses", "responses"], [pi, "messages", "messages"], [pi, "generateContent", "generateContent"],
  [pi, "chat-completions", "messages"], [pi, "responses", "generateContent"], [pi, "messages", "chat-completions"], [pi, "generateContent", "local-model-server"],
  [gemini, "generateContent", "generateContent"], [gemini, "generateContent", "messages"],
  [qwen, "chat-completions", "chat-completions"], [qwen, "chat-completions", "generateContent"],
  [codex, "responses", "responses"], [codex, "responses", "messages"], [codex, "responses", "chat-completions"], [codexHttp, "responses", "responses"]
]

describe.skipIf(!areInstalled())("coding agents", () => {
  let matrix: Matrix
  beforeAll(async () => {
    matrix = await startMatrix()
  })
  afterAll(() => matrix.close())

  const named = (name: Family["name"]): Family => families.find((one) => one.name === name) as Family
  const ask = (agent: Agent, face: FormatName, model: string, home: string): Promise<Ran> =>
    run(agent, { url: matrix.url, key: matrix.key, model, face, home }, "Write the word lighthouse into note.txt, then say that it is done.")

  for (const [agent, face, name] of pairs) describe(`${agent.name}, ${face} over ${name}`, () => {
    const family = named(name)
    const label = `${agent.name.replace(/\W/g, "").toLowerCase()}-${face}`

    it("calls a tool that writes a file, sends the result back and shows the answer", async () => {
      const { home, work } = makeHome()
      const note = path.join(work, "note.txt")
      // The vendor signs its calls with its thoughts, and wants the signature back.
      const thoughts = name === "generateContent" ? { reasoning: "A note is to be written." } : {}
      const model = await matrix.model(family, face, `${label}-tool`,
        { toolCalls: [agent.write(note, "lighthouse\n")], ...thoughts }, { text: "The note is written, captain." })
      const ran = await ask(agent, face, model.id, home)
      expect(ran.output).toContain("The note is written, captain.")
      expect(ran.code).toBe(0)
      expect(ran.upgrades > 0).toBe(agent === codex)
      expect(fs.readFileSync(note, "utf8")).toContain("lighthouse")
      const [first, second] = await matrix.arrived(family, model.name)
      expect(first?.tools).toContain(agent.write("", "").name)
      expect(second?.calls.map((call) => call.name)).toEqual([agent.write("", "").name])
      expect(second?.results).toHaveLength(1)
      const rows = await matrix.rowsOf(model.name, 2)
      expect(rows.slice(0, 2)).toMatchObject([
        { sourceFormat: face, targetFormat: name, outcome: "completed", status: 200 }, { sourceFormat: face, targetFormat: name, outcome: "completed", status: 200 }
      ])
    }, 180_000)

    // A foreign family's refusal looks the same to the agents that take long to start.
    if (agent === pi || face === name) it("shows the vendor's words when a request is refused", async () => {
      const message = "prompt is too long: 213462 tokens > 200000 maximum"
      const model = await matrix.model(family, face, `${label}-error`, { status: 400, error: { message } })
      const { home, work } = makeHome()
      const ran = await ask(agent, face, model.id, home)
      expect(ran.output).toContain(message)
      const [row] = await matrix.rowsOf(model.name, 1)
      expect(row).toMatchObject({ sourceFormat: face, targetFormat: name, status: 400 })
      expect(fs.existsSync(path.join(work, "note.txt"))).toBe(false)
    }, 90_000)
  })
})
