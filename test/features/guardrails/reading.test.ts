/** What all guardrails make of the texts of one request: changed bytes, and what a guardrail that fails may let pass. */
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as Notes from "#src/features/guardrails/Notes.ts"
import * as OptOut from "#src/features/guardrails/OptOut.ts"
import { refusing } from "#src/features/guardrails/Reading.ts"
import { scan } from "#src/features/guardrails/requests/scan.ts"
import * as Rules from "#src/features/guardrails/rules.ts"
import { applied, each, type Edits, inBytes, Value } from "#src/wire/json/edits.ts"

const modes = (over: Partial<Rules.Rules["requests"]>): Rules.Rules => ({ ...Rules.none, requests: { ...Rules.none.requests, ...over } })
const broken: typeof Rules.finders = { ...Rules.finders, "prompt-injection": () => { throw new Error("it broke") } }
const body = { messages: [{ role: "user", content: "I am a@b.io" }] }
const scanned = (rules: Rules.Rules) => scan(rules, "chat-completions", Buffer.from(JSON.stringify(body)), body, broken)

describe("a guardrail that fails", () => {
  it("lets pass what it only observes, and the others go on", () => {
    const { changed, reports } = scanned(modes({ "prompt-injection": "warn", "pii-masker": "redact" }))
    expect(refusing(reports)).toBeNull()
    expect(reports.map(({ error, name }) => [name, error])).toEqual([["pii-masker", null], ["prompt-injection", "it broke"], ["credential-masker", null]])
    expect(String(changed?.bytes)).toBe('{"messages":[{"role":"user","content":"I am [EMAIL_REDACTED]"}]}')
  })

  it.each(["block", "redact"] as const)("lets nothing pass in mode %s", (mode) => {
    const { changed, reports } = scanned(modes({ "prompt-injection": mode, "pii-masker": "redact" }))
    expect([refusing(reports)?.name, changed]).toEqual(["prompt-injection", null])
  })
})

it("a request that cannot be read at all is refused, and passes where it would only be observed", () => {
  const deep = { messages: [{ role: "user", content: JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`) as unknown }] }
  const refused = (mode: Rules.Mode) => refusing(scan(modes({ "pii-masker": mode }), "chat-completions", Buffer.alloc(0), deep).reports)
  expect(refused("redact")).toMatchObject({ name: "pii-masker", error: "Maximum call stack size exceeded" })
  expect(refused("warn")).toBeNull()
})

describe("the log", () => {
  it.effect("names what was found and what was done, and never the text; a change is counted alone", () => Effect.gen(function*() {
    const lines: Array<string> = []
    const log = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
    const note = yield* Notes.make((effect) => {
      Effect.runSync(Effect.provide(effect, log))
      return () => undefined
    })
    for (const mode of ["warn", "block"] as const) note(scanned(modes({ "prompt-injection": mode, "pii-masker": "redact" })).reports, "request", `r-${mode}`)
    for (const mode of ["warn", "block", "redact"] as const) note(scan(modes({ "pii-masker": mode }), "chat-completions", Buffer.from(JSON.stringify(body)), body).reports, "request", `p-${mode}`)
    expect(lines).toEqual([
      "guardrail prompt-injection failed: it broke in the request of r-warn; the request passed unread",
      "guardrail prompt-injection failed: it broke in the request of r-block; the request was refused",
      "guardrail pii-masker found email (1) in the request of p-warn",
      "guardrail pii-masker found email (1) in the request of p-block; the request was blocked"
    ])
  }))
})

describe("names of guardrails", () => {
  it("are known in any spelling, and others are left out", () => {
    expect(OptOut.namesIn(["PII Masker", "piiMasker", "pii_masker", " prompt-injection ", "visionBridge", "audio-bridge", 7])).toEqual(["pii-masker", "pii-masker", "pii-masker", "prompt-injection", "vision-bridge"])
    expect(OptOut.namesIn("credentialMasker, PROMPT_INJECTION")).toEqual(["credential-masker", "prompt-injection"])
    expect(OptOut.namesIn({ piiMasker: true })).toEqual([])
  })
})

/** Every text with the mark loses it. */
const unmarked = (value: unknown): Edits | null =>
  typeof value === "string" ? value.includes("#") ? new Value(value.replaceAll("#", "")) : null : each(value, unmarked)

describe("changes of a document", () => {
  it.prop("are the same in its bytes as in its parsed form, whatever the document and its spaces", [Arbitrary.schema(Schema.Struct({
    document: Schema.Json, marked: Schema.Array(Schema.Union([Schema.String, Schema.Literals(["#", "a#\"\\", "é#"]), Schema.Struct({ "a#": Schema.Literal("#"), b: Schema.String })])),
    space: Schema.Literals(["", " ", "\t"])
  }))], ([{ document, marked, space }]) => {
    const bytes = Buffer.from(JSON.stringify({ marked, document, last: "#" }, null, space))
    const read: unknown = JSON.parse(bytes.toString())
    const edits = unmarked(read) as Edits
    expect(JSON.parse(String(inBytes(bytes, edits)))).toEqual(applied(read, edits))
  })

  it("leave all other bytes, and are not made where an object says a name twice", () => {
    const edits: Edits = new Map([["a", new Map([[1, new Value("x")]])]])
    expect(String(inBytes(Buffer.from('{"n":12345678901234567890, "\\u0061" : [ {"k":"]"} , "\\u0031" , 2 ] , "z":1.0}'), edits))).toBe('{"n":12345678901234567890, "\\u0061" : [ {"k":"]"} , "x" , 2 ] , "z":1.0}')
    expect(inBytes(Buffer.from('{"a":[1,2],"a":[1,2]}'), edits)).toBeNull()
  })
})
