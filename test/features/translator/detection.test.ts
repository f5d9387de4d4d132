/** Which format a recorded request or stream is in: those of the golden grid are known by what they hold. */
import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it } from "vitest"
import * as Detection from "#src/features/translator/detection.ts"

const golden = path.join(import.meta.dirname, "../../golden")
const formats = ["chat-completions", "completions", "messages", "responses", "generateContent", "local-model-server"] as const
const files = (format: string, kind: string): ReadonlyArray<string> => {
  const folder = path.join(golden, format, kind)
  return fs.existsSync(folder) ? fs.readdirSync(folder).sort().map((file) => path.join(folder, file)) : []
}

describe("the format of a request", () => {
  it.each(formats)("%s: every recorded request is read by its codec or refused by a field, and the format is found wherever something speaks for it", (format) => {
    const requests = files(format, "requests")
    expect(requests.length).toBeGreaterThan(0)
    for (const file of requests) {
      const { format: found, readings, sure } = Detection.ofRequest(JSON.parse(fs.readFileSync(file, "utf8")) as Record<string, unknown>)
      const own = readings.find((one) => one.format === format)
      // Some are recorded because they are refused.
      expect([file, own?.readable === true || own?.problem?.field !== undefined]).toEqual([file, true])
      if (sure && own?.readable === true) expect([file, found]).toEqual([file, format])
    }
  })

  it.each([
    ["chat-completions", { messages: [{ role: "developer", content: "s" }, { role: "user", content: "u" }] }, "messages.0.role"],
    ["messages", { max_tokens: 9, system: "s", messages: [{ role: "user", content: "u" }] }, "system"],
    ["messages", { max_tokens: 9, messages: [{ role: "user", content: [{ type: "image", source: { type: "url", url: "https://a.example/b.png" } }] }] }, "messages.0.content.0"],
    ["responses", { input: "u" }, "input"],
    ["generateContent", { contents: [{ role: "user", parts: [{ text: "u" }] }] }, "contents"],
    ["completions", { prompt: "u" }, "prompt"],
    ["local-model-server", { messages: [{ role: "user", content: "u" }], options: { num_ctx: 9 } }, "options"]
  ] as const)("%s is known by %j", (format, body, evidence) => {
    const { format: found, readings, sure } = Detection.ofRequest({ model: "m", ...body })
    expect([found, sure]).toEqual([format, true])
    expect(readings[0]?.evidence).toContain(evidence)
  })

  it("a bare list of messages is read as chat-completions, and it is said that this is a guess", () => {
    const { format, readings, sure } = Detection.ofRequest({ model: "m", messages: [{ role: "user", content: "u" }] })
    expect([format, sure]).toEqual(["chat-completions", false])
    expect(readings.map((one) => [one.format, one.readable])).toContainEqual(["local-model-server", true])
  })

  it("what two formats share speaks for both", () => {
    const { format, readings, sure } = Detection.ofRequest({ model: "m", messages: [{ role: "user", content: "u" }], tools: [{ type: "function", function: { name: "f" } }] })
    expect([format, sure, readings.slice(0, 2).map((one) => [one.format, one.evidence])]).toEqual([
      "chat-completions", false, [["chat-completions", ["tools.0.function"]], ["local-model-server", ["tools.0.function"]]]
    ])
  })

  it("what no codec can read has no format, and the field that is wrong is named", () => {
    const { format, readings, sure } = Detection.ofRequest({ model: "m", contents: "u" })
    expect([format, sure]).toEqual([null, false])
    expect(readings[0]).toMatchObject({ format: "generateContent", readable: false, evidence: ["contents"], problem: { field: expect.stringContaining("contents") } })
    expect(Detection.ofRequest({})).toMatchObject({ format: null, sure: false })
  })
})

describe("the format of a stream", () => {
  it.each(formats.filter((format) => format !== "completions"))("%s: every recorded stream with an answer says it", (format) => {
    const streams = files(format, "streams")
    expect(streams.length).toBeGreaterThan(0)
    const unknown = streams.filter((file) => Detection.ofStream(fs.readFileSync(file, "utf8")) !== format)
    expect(unknown.map((file) => path.basename(file)).filter((name) => !name.startsWith("error-first."))).toEqual([])
  })

  it("of no known format is unknown", () => {
    for (const text of ["", "hello", "data: {}\n\n", "{\"done\":true}\n"]) expect([text, Detection.ofStream(text)]).toEqual([text, null])
  })
})
