/** What a request costs grows with its bytes alone: no search through everything before it, for each of many. */
import { describe, expect, it } from "vitest"
import { PublicError } from "#schemas/errors.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as Formats from "#src/wire/formats.ts"
import type { TargetTraits } from "#src/wire/WireFormat.ts"
import { writeRequest } from "#src/wire/writeRequest.ts"
import { growthOf } from "#test/support/late.ts"

const traits: TargetTraits = { model: "target", stream: true, maxOutputTokens: 8192, reasoning: false, streamOptions: true, previousResponseId: "auto" }
const families = ["chat-completions", "messages", "responses", "generateContent", "local-model-server"] as const

type Make = (n: number) => Record<string, unknown>
const each = <A>(n: number, make: (i: number) => A): Array<A> => Array.from({ length: n }, (_, i) => make(i))
const hello = { role: "user", content: "x" }
const chatCall = (i: number) => ({ id: `c${i}`, type: "function", function: { name: "read", arguments: "{}" } })
const chatTool = (name: string) => ({ type: "function", function: { name, parameters: {} } })
const responsesCall = (i: number) => ({ type: "function_call", call_id: `c${i}`, name: "read", arguments: "{}" })
const responsesResult = (i: number) => ({ type: "function_call_output", call_id: `c${i}`, output: "r" })
const properties = (n: number) => ({ type: "object", additionalProperties: false, properties: Object.fromEntries(each(n, (i) => [`p${i}`, {}])), required: each(n, (i) => `p${i}`) })

const shapes: Readonly<Partial<Record<FormatName, Readonly<Record<string, Make>>>>> = {
  "chat-completions": {
    "fields that nobody knows": (n) => ({ messages: [hello], ...Object.fromEntries(each(n, (i) => [`k${i}`, 1])) }),
    "members that nobody knows": (n) => ({ messages: each(n, (i) => ({ ...hello, [`k${i}`]: 1 })) }),
    "parts that nobody knows": (n) => ({ messages: [hello, { role: "assistant", content: each(n, (i) => ({ type: `odd${i}`, text: "y" })) }] }),
    "calls at once": (n) => ({ messages: [hello, { role: "assistant", tool_calls: each(n, chatCall) }, ...each(n, (i) => ({ role: "tool", tool_call_id: `c${i}`, content: "r" }))] }),
    "signed calls": (n) => ({
      messages: [hello, {
        role: "assistant", content: "z", tool_calls: each(n, chatCall),
        reasoning_details: each(n, (i) => ({ type: "reasoning.encrypted", data: "s", id: `c${i}`, format: "google-gemini-v1" }))
      }, ...each(n, (i) => ({ role: "tool", tool_call_id: `c${i}`, content: "r" }))]
    }),
    "messages of one role": (n) => ({ messages: each(n, () => hello) }),
    "names for one": (n) => ({ messages: [hello], tools: each(n, (i) => chatTool([...i.toString(2).padStart(16, "0")].map((bit) => bit === "0" ? "!" : "?").join(""))) }),
    "allowed tools": (n) => ({
      messages: [hello], tools: each(n, (i) => chatTool(`t${i}`)),
      tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto", tools: each(n, (i) => ({ type: "function", function: { name: `t${i}` } })) } }
    })
  },
  "messages": {
    "thoughts between texts": (n) => ({ messages: [hello, { role: "assistant", content: each(n, (i) => [{ type: "thinking", thinking: "t", signature: `s${i}` }, { type: "text", text: "x" }]).flat() }, hello] })
  },
  "responses": {
    "results behind all calls": (n) => ({ input: [hello, ...each(n, (i) => [responsesCall(i), hello]).flat(), ...each(n, responsesResult)] }),
    "members of a namespace": (n) => ({ input: "x", tools: [{ type: "namespace", name: "ns", tools: each(n, (i) => ({ type: "function", name: `t${i}` })) }] }),
    "members of one name": (n) => ({ input: "x", tools: [{ type: "namespace", name: "ns", tools: each(n, () => ({ type: "function", name: "t" })) }] })
  },
  "generateContent": {
    "calls at once, answered from the last": (n) => ({
      contents: [
        { role: "user", parts: [{ text: "x" }] }, { role: "model", parts: each(n, (i) => ({ functionCall: { name: `f${i}`, args: {} } })) },
        { role: "user", parts: each(n, (i) => ({ functionResponse: { name: `f${n - 1 - i}`, response: { result: "r" } } })) }
      ]
    }),
    "calls in contents of their own": (n) => ({ contents: [{ role: "user", parts: [{ text: "x" }] }, ...each(n, (i) => ({ role: "model", parts: [{ functionCall: { name: `f${i}`, args: {} } }] }))] }),
    "required members of a strict tool": (n) => ({
      contents: [{ role: "user", parts: [{ text: "x" }] }], tools: [{ functionDeclarations: [{ name: "f", parametersJsonSchema: properties(n) }] }],
      toolConfig: { functionCallingConfig: { mode: "VALIDATED" } }
    })
  },
  "local-model-server": {
    "calls at once, answered from the last": (n) => ({
      messages: [hello, { role: "assistant", content: "", tool_calls: each(n, (i) => ({ function: { name: `f${i}`, arguments: {} } })) }, ...each(n, (i) => ({ role: "tool", tool_name: `f${n - 1 - i}`, content: "r" }))]
    })
  }
}

const cases = Object.entries(shapes).flatMap(([face, makes]) => Object.entries(makes).map(([what, make]) => [face, what, make] as const))

const translate = (face: string, body: Record<string, unknown>): void => {
  const bytes = Buffer.from(JSON.stringify(body))
  const conversation = Formats.clients.find(({ name }) => name === face)!.decodeRequest(body)
  if (conversation instanceof PublicError) throw conversation
  for (const family of families) {
    if (family === face) continue
    const written = writeRequest(conversation, { body: bytes, parsed: body }, Formats.family(family), traits)
    if (written instanceof PublicError) throw written
  }
}

const few = 1_000
/** Of what costs less than a microsecond each: fewer of them fit into a processor's caches, and more do not. */
const fewSmall = 8_000
const small: ReadonlySet<string> = new Set(["fields that nobody knows", "allowed tools", "members of a namespace", "members of one name", "required members of a strict tool"])
const times = 12
/** Of what is linear; what is quadratic takes `times` more. */
const slack = 4

describe("a request with many", () => {
  it.each(cases)("%s: %s", (face, what, make) => {
    const least = small.has(what) ? fewSmall : few
    const bodies = new Map([least, least * times].map((n) => [n, { model: "m", ...make(n) }]))
    expect(growthOf((n) => translate(face, bodies.get(n) ?? {}), least, times, times * slack)).toBeLessThan(times * slack)
  })

  it("calls at once does not exceed the stack", () => {
    const make = shapes["chat-completions"]?.["calls at once"]
    expect(() => translate("chat-completions", { model: "m", ...make?.(150_000) })).not.toThrow()
  })
})
