import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Script } from "#src/simulator/Simulator.ts"
import * as Http from "#test/support/http.ts"
import { contentOf, errorIn, framesOf, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let models = 0
beforeAll(async () => {
  lab = await startLab()
})
afterAll(async () => {
  expect(lab.gateway.output()).not.toContain("failed unexpectedly")
  await lab.close()
})

const ask = async (script: Script, stream: boolean) => {
  const model = `fault-${++models}`
  await lab.sim.rule({ match: { model }, script })
  const reply = await lab.chat({ model, stream })
  return { reply, rows: await lab.rows(reply) }
}

describe("what is no answer becomes 502 upstream_invalid_response before the commit point", () => {
  const garbage: ReadonlyArray<readonly [string, Script, "both" | "whole" | "stream"]> = [
    ["HTML with status 200", { html: true }, "both"],
    ["a JSON text that is no completion", { body: "\"hello\"", contentType: "application/json" }, "both"],
    ["an empty JSON object", { body: {} }, "both"],
    ["a JSON array", { body: [] }, "both"],
    ["broken JSON", { body: "{\"choices\":[", contentType: "application/json" }, "both"],
    ["an empty body", { body: "", contentType: "application/json" }, "both"],
    ["plain text", { body: "Service is fine", contentType: "text/plain" }, "whole"],
    ["an event stream where none was asked for", { body: "data: {}\n\n", contentType: "text/event-stream" }, "whole"],
    ["a stream whose first frame is broken JSON", { tokens: 3, malformed: [{ kind: "bad-json", at: 0 }] }, "stream"],
    ["bytes that are no HTTP chunk, first", { tokens: 3, malformed: [{ kind: "bad-chunk", at: 0 }] }, "stream"]
  ]
  it("a whole completion where a stream was asked for is told as a stream", async () => {
    const { reply, rows } = await ask({ body: { choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }] } }, true)
    expect(reply.status).toBe(200)
    expect(contentOf(reply.text)).toBe("hi")
    expect(reply.text.match(/\[DONE\]/g)?.length).toBe(1)
    expect(rows.at(-1)).toMatchObject({ outcome: "completed", status: 200, final: true })
  })

  for (const [name, script, kinds] of garbage) {
    for (const stream of kinds === "both" ? [false, true] : [kinds === "stream"]) {
      it(`${name} (${stream ? "stream" : "whole"})`, async () => {
        const { reply, rows } = await ask(script, stream)
        expect([reply.status, errorIn(reply)["code"], errorIn(reply)["type"]]).toEqual([502, "upstream_invalid_response", "server_error"])
        expect(rows.at(-1)).toMatchObject({ outcome: "parse-error", status: 502, errorCode: "upstream_invalid_response", final: true })
        expect(reply.text).not.toContain("<")
      })
    }
  }
})

describe("a stream with the wrong content type is still a stream", () => {
  it.each(["text/plain", "application/octet-stream", "text/event-stream; charset=utf-8"])("%s", async (contentType) => {
    const { reply, rows } = await ask({ tokens: 3, contentType }, true)
    expect([reply.status, Http.payloads(reply.text).at(-1), reply.headers["content-type"]]).toEqual([200, "[DONE]", "text/event-stream"])
    expect(rows[0]).toMatchObject({ outcome: "completed", tokensOut: 3 })
  })
})

describe("error bodies of every shape keep their status and give a proper error object", () => {
  const bodies: ReadonlyArray<readonly [string, Script]> = [
    ["HTML", { status: 500, html: true }],
    ["empty", { status: 500, body: "" }],
    ["text", { status: 500, body: "upstream connect error", contentType: "text/plain" }],
    ["a bare message", { status: 500, body: { message: "no" } }],
    ["error as text", { status: 500, body: { error: "it broke" } }],
    ["null", { status: 500, body: null }],
    ["deep error", { status: 500, body: { error: { message: { nested: true }, code: 12, type: ["x"] } } }]
  ]
  it.each(bodies)("%s", async (_, script) => {
    const { reply, rows } = await ask(script, false)
    expect(reply.status).toBe(500)
    const error = errorIn(reply)
    expect([typeof error["message"], error["type"], typeof error["code"]]).toEqual(["string", "server_error", "string"])
    expect(String(error["message"]).length).toBeGreaterThan(0)
    expect(rows.at(-1)).toMatchObject({ outcome: "upstream-status", upstreamStatus: 500, status: 500 })
  })

  it("a byte order mark before the answer is ignored", async () => {
    const answer = { id: "chatcmpl-1", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }], usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 } }
    const { reply, rows } = await ask({ status: 200, headers: { "content-type": "application/json" }, body: `\ufeff${JSON.stringify(answer)}` }, false)
    expect([reply.status, JSON.parse(reply.text)]).toMatchObject([200, { choices: answer.choices }])
    expect(rows).toMatchObject([{ tokensIn: 5, tokensOut: 7 }])
  })

  it("a message is at most 4096 characters", async () => {
    const { reply } = await ask({ status: 400, error: { message: "m".repeat(50_000) } }, false)
    expect(String(errorIn(reply)["message"]).length).toBeLessThanOrEqual(4_096)
  })

  it.each([301, 302, 307, 308])("a redirect (%s) is not followed, becomes 502 bad_gateway, and says what to look at", async (status) => {
    const { reply } = await ask({ status, headers: { location: "http://127.0.0.1:1/" }, body: "" }, false)
    expect([reply.status, errorIn(reply)["code"]]).toEqual([502, "bad_gateway"])
    expect(errorIn(reply)["message"]).toContain(`a redirect (HTTP ${status}), which is not followed. Check the base URL`)
    expect(reply.text).not.toContain("127.0.0.1:1")
  })
})

describe("after the commit point a broken stream ends with one error frame and [DONE]", () => {
  const broken: ReadonlyArray<readonly [string, Script, string, string]> = [
    ["bytes that are no HTTP chunk", { tokens: 8, paceMs: 5, malformed: [{ kind: "bad-chunk", at: 4 }] }, "parse-error", "upstream_invalid_response"],
    ["a reset", { tokens: 8, resetAfter: { frames: 4 } }, "upstream-reset", "upstream_reset"],
    ["a frame above 32 MiB", { tokens: 8, malformed: [{ kind: "huge", at: 4, bytes: 33 * 1024 * 1024 }] }, "parse-error", "upstream_invalid_response"]
  ]
  it.each(broken)("%s", async (_, script, outcome, code) => {
    const { reply, rows } = await ask(script, true)
    expect([reply.status, reply.whole]).toEqual([200, true])
    const payloads = Http.payloads(reply.text)
    expect(payloads.at(-1)).toBe("[DONE]")
    const errors = framesOf(payloads.filter((data) => data.startsWith("{\"error\"")).map((data) => `data: ${data}\n\n`).join(""))
    expect(errors.map((frame) => (frame["error"] as { code: string }).code)).toEqual([code])
    expect(rows.map((row) => [row.outcome, row.errorCode, row.final])).toEqual([[outcome, code, true]])
    expect(rows[0]?.tokensOut).toBeGreaterThan(0)
  })

  it("broken JSON in one frame passes as the upstream sent it; the stream goes on and is accounted", async () => {
    const { reply, rows } = await ask({ tokens: 8, malformed: [{ kind: "bad-json", at: 4 }] }, true)
    expect([reply.status, Http.payloads(reply.text).at(-1)]).toEqual([200, "[DONE]"])
    expect(rows).toMatchObject([{ outcome: "completed", tokensOut: 8, estimated: false }])
  })

  it("a field that is no data field is ignored, as the format says", async () => {
    const { reply, rows } = await ask({ tokens: 8, malformed: [{ kind: "wrong-field", at: 4 }] }, true)
    expect(reply.status).toBe(200)
    expect(rows[0]?.outcome).toBe("completed")
  })

  it("a large but legal frame (1 MiB) passes whole", async () => {
    const { reply, rows } = await ask({ tokens: 8, malformed: [{ kind: "huge", at: 4, bytes: 1024 * 1024 }] }, true)
    expect(reply.bytes.length).toBeGreaterThan(1024 * 1024)
    expect(rows[0]?.outcome).toBe("completed")
  })
})

describe("a whole answer that breaks", () => {
  it.each([["reset", { resetAfter: { bytes: 20 } }], ["closed early", { closeAfter: { bytes: 20 } }]] as const)("%s in its body is 502 upstream_reset", async (_, script) => {
    const { reply, rows } = await ask({ tokens: 30, ...script }, false)
    expect([reply.status, errorIn(reply)["code"]]).toEqual([502, "upstream_reset"])
    expect(rows.at(-1)).toMatchObject({ outcome: "upstream-reset", status: 502 })
  })
})

describe("response headers of an upstream that are too many or too long", () => {
  it.each([["many", 15, 950], ["one long", 1, 15_000]] as const)("%s: the answer arrives all the same", async (name, count, length) => {
    const headers = Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-ratelimit-test-${index}`, "v".repeat(length)]))
    for (const stream of [false, true]) {
      const { reply, rows } = await ask({ tokens: 3, headers }, stream)
      expect([name, stream, reply.status]).toEqual([name, stream, 200])
      expect(rows[0]?.outcome).toBe("completed")
    }
  })
})
