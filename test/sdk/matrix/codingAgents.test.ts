/** What coding agents send to a model of a family that is not their vendor's: tools that the vendor runs, tools of free text, namespaces. */
import type OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { families, type Family, type Matrix, startMatrix } from "#test/support/families.ts"
import { remembering } from "./Driver.ts"
import { client } from "./openaiChat.driver.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())

const patch = "*** Begin Patch\n*** Update File: src/\"näme\".ts\n@@\n-const a = \"\\\\n\\t\"\r\n+const a = '日本 👩‍💻 \\u0041 \u2028'\n*** End Patch\n"
const grammar = "start: begin_patch hunk end_patch\nbegin_patch: \"*** Begin Patch\" LF"

const tools = [
  { type: "function", name: "shell", strict: false, parameters: { type: "object", properties: { command: { type: "string" } } } },
  { type: "custom", name: "apply_patch", description: "Edits files.", format: { type: "grammar", syntax: "lark", definition: grammar } },
  {
    type: "namespace", name: "mcp/linear", description: "Issues",
    tools: [{ type: "function", name: "list issues", parameters: { type: "object", properties: {} } }, { type: "function", name: "x".repeat(70), parameters: { type: "object", properties: {} } }]
  },
  { type: "web_search" }, { type: "image_generation" }, { type: "local_shell" }, { type: "tool_search" }, { type: "something_new", level: 9 }
] as unknown as Array<OpenAI.Responses.Tool>

/** What the vendor's own tools leave behind. */
const history = [
  { role: "user", content: "Look around." },
  { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "effect 4" } },
  { type: "local_shell_call", id: "ls_1", call_id: "call_ls", status: "completed", action: { type: "exec", command: ["ls", "-a"] } },
  { type: "local_shell_call_output", id: "lso_1", call_id: "call_ls", output: "README.md" },
  { type: "image_generation_call", id: "ig_1", status: "completed", result: "A".repeat(4000), revised_prompt: "a fox" },
  { type: "tool_search_call", call_id: "ts_1", arguments: { query: "issues" }, execution: "client", status: "completed" },
  { type: "tool_search_output", call_id: "ts_1", tools: [{ type: "function", name: "found_tool" }], status: "completed" },
  { type: "item_of_tomorrow", id: "it_1", note: "keep me" },
  { role: "user", content: "Now edit." }
]

/** Chat models of compatible servers have no tools of free text. */
const stemOf = (family: Family): Family => family.name === "chat-completions" ? { ...family, stem: family.thinker } : family
const thoughts = { reasoning: "Step by step." }
const foreign = families.filter((family) => family.name !== "responses").map((family) => ({ family: stemOf(family), name: family.name }))

describe.each(foreign)("a responses agent towards $name", ({ family }) => {
  it("tools that only the vendor runs are left out and listed, with what they left in the history as text", async () => {
    const model = await matrix.model(family, "responses", "hosted", { ...thoughts, text: "Done." })
    const { fetch, header } = remembering()
    const response = await client(matrix.url, matrix.key, fetch).responses.create({ model: model.id, tools, input: history as unknown as OpenAI.Responses.ResponseInput, store: false })
    expect(response.output_text).toBe("Done.")
    const omitted = header("x-gateway-omitted")
    for (const type of ["web_search", "image_generation", "local_shell", "tool_search", "something_new"]) expect(omitted).toContain(`tools.${type}`)
    expect(omitted).toContain("input[].web_search_call (as text)")
    const [seen] = await matrix.arrived(family, model.name)
    expect(seen?.tools).toHaveLength(4)
    for (const name of seen?.tools ?? []) expect(name).toMatch(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/)
    expect(new Set(seen?.tools).size).toBe(4)
    const said = JSON.stringify([seen?.assistant, seen?.user])
    for (const word of ["effect 4", "README.md", "a fox", "found_tool", "keep me", "Now edit."]) expect(said).toContain(word)
    expect(said).not.toContain("AAAA")
  })

  it("apply_patch makes the round trip, whole and streamed at every cut, and in the history", async () => {
    for (const stream of [false, true]) {
      for (const random of stream ? [1, 2, 3] : [1]) {
        const model = await matrix.model(family, "responses", `patch-${stream}-${random}`,
          { ...thoughts, toolCalls: [{ name: "apply_patch", arguments: { input: patch } }, { name: "shell", arguments: { command: "ls" } }], tokenSize: 2, split: { random, max: 11 } },
          { ...thoughts, text: "Patched." })
        const openai = client(matrix.url, matrix.key)
        const input: Array<OpenAI.Responses.ResponseInputItem> = [{ role: "user", content: "Edit." }]
        const body = { model: model.id, tools, input, store: false }
        let deltas = ""
        let response: OpenAI.Responses.Response
        if (stream) {
          const runner = openai.responses.stream({ ...body, stream: true })
          for await (const event of runner) if (event.type === "response.custom_tool_call_input.delta") deltas += event.delta
          response = await runner.finalResponse()
          expect(deltas).toBe(patch)
        } else response = await openai.responses.create(body)
        const calls = response.output.filter((item) => item.type === "custom_tool_call" || item.type === "function_call")
        expect(calls).toMatchObject([{ type: "custom_tool_call", name: "apply_patch", input: patch }, { type: "function_call", name: "shell", arguments: "{\"command\":\"ls\"}" }])
        input.push(...response.output as Array<OpenAI.Responses.ResponseInputItem>)
        input.push({ type: "custom_tool_call_output", call_id: calls[0]!.call_id, output: "Success." }, { type: "function_call_output", call_id: calls[1]!.call_id, output: "a.ts" })
        expect((await openai.responses.create(body)).output_text).toBe("Patched.")
        const [, again] = await matrix.arrived(family, model.name)
        expect(again?.calls).toEqual([{ name: "apply_patch", args: { input: patch } }, { name: "shell", args: { command: "ls" } }])
        expect(again?.results.map(({ text }) => text)).toEqual(["Success.", "a.ts"])
        const declared = JSON.stringify((await matrix.entries(model.name))[0]?.body)
        expect(declared).toContain(JSON.stringify(grammar).slice(1, -1))
      }
    }
  })

  it("a tool of a namespace is called by its own name, and stays so in the history", async () => {
    const probe = await matrix.model(family, "responses", "names", { ...thoughts, text: "Hm." })
    const openai = client(matrix.url, matrix.key)
    await openai.responses.create({ model: probe.id, tools, input: "Issues?" })
    const [seen] = await matrix.arrived(family, probe.name)
    for (const [i, name] of ["list issues", "x".repeat(70)].entries()) {
      const flat = seen?.tools[2 + i] ?? ""
      const model = await matrix.model(family, "responses", `namespace-${i}`, { ...thoughts, toolCalls: [{ name: flat, arguments: {} }] }, { ...thoughts, text: "None." })
      const input: Array<unknown> = [{ role: "user", content: "Issues?" }]
      const body = { model: model.id, tools, input: input as OpenAI.Responses.ResponseInput, store: false }
      const response = await openai.responses.stream({ ...body, stream: true }).finalResponse()
      const call = response.output.find((item) => item.type === "function_call")
      expect(call).toMatchObject({ namespace: "mcp/linear", name })
      input.push(...response.output.map((item) => Object.fromEntries(Object.entries(item).filter(([key]) => key !== "parsed_arguments"))))
      input.push({ type: "function_call_output", call_id: call?.call_id, output: "none" })
      expect((await openai.responses.create(body)).output_text).toBe("None.")
      expect((await matrix.arrived(family, model.name))[1]?.calls.map((one) => one.name)).toEqual([flat])
    }
  })
})

describe.each(families.filter(({ name }) => name !== "chat-completions").map((family) => ({ family, name: family.name })))("a chat agent towards $name", ({ family }) => {
  it("custom tools are called with text, hosted ones left out", async () => {
    // The responses format has tools of free text itself.
    const args = family.name === "responses" ? patch : { input: patch }
    const model = await matrix.model(family, "chat-completions", "custom", { ...thoughts, toolCalls: [{ name: "apply_patch", arguments: args }], tokenSize: 3 })
    const { fetch, header } = remembering()
    const openai = client(matrix.url, matrix.key, fetch)
    const body = {
      model: model.id, messages: [{ role: "user" as const, content: "Edit." }],
      tools: [{ type: "custom", custom: { name: "apply_patch", format: { type: "grammar", grammar: { syntax: "lark", definition: grammar } } } }, { type: "web_search" }] as unknown as Array<OpenAI.ChatCompletionTool>
    }
    const whole = await openai.chat.completions.create(body)
    expect(whole.choices[0]?.message.tool_calls).toMatchObject([{ type: "custom", custom: { name: "apply_patch", input: patch } }])
    expect(header("x-gateway-omitted")).toContain("tools.web_search")
    let input = ""
    for await (const chunk of await openai.chat.completions.create({ ...body, stream: true })) {
      for (const call of chunk.choices[0]?.delta.tool_calls ?? []) input += (call as unknown as { readonly custom?: { readonly input?: string } }).custom?.input ?? ""
    }
    expect(input).toBe(patch)
  })
})

const claudeTools = [
  { name: "Bash", description: "Runs", input_schema: { type: "object", properties: {} } },
  { name: "mcp__big__tool", input_schema: { type: "object", properties: {} }, defer_loading: true, eager_input_streaming: true },
  { type: "web_search_20250305", name: "web_search", max_uses: 8 },
  { type: "tool_search_tool_regex_20251119", name: "tool_search_tool_regex" },
  { type: "text_editor_20250728", name: "str_replace_based_edit_tool" }, { type: "code_execution_20250825", name: "code_execution" }
]
const claudeHistory = [
  { role: "user", content: "Find it." },
  {
    role: "assistant",
    content: [
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "effect 4" } },
      { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ type: "web_search_result", url: "https://effect.website", title: "Effect", encrypted_content: "EqgfCioIARgBIiQ", page_age: null }] },
      { type: "server_tool_use", id: "srvtoolu_2", name: "tool_search_tool_regex", input: { pattern: "big" } },
      { type: "tool_search_tool_result", tool_use_id: "srvtoolu_2", content: { type: "tool_search_tool_search_result", tool_references: [{ type: "tool_reference", tool_name: "mcp__big__tool" }] } },
      { type: "tool_use", id: "toolu_1", name: "Bash", input: {} }
    ]
  },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "tool_reference", tool_name: "mcp__big__tool" }] }, { type: "text", text: "Go on." }] }
]

describe.each(families.filter(({ name }) => name !== "messages").map((family) => ({ family, name: family.name })))("a messages agent towards $name", ({ family }) => {
  const post = async (body: object) => {
    const reply = await fetch(`${matrix.url}/v1/messages?beta=true`, {
      method: "POST", headers: { authorization: `Bearer ${matrix.key}`, "content-type": "application/json", "anthropic-version": "2023-06-01" }, body: JSON.stringify({ max_tokens: 500, ...body })
    })
    return { status: reply.status, omitted: reply.headers.get("x-gateway-omitted") ?? "", json: await reply.json() as { readonly error?: { readonly message?: string } } }
  }

  it("tools that only the vendor runs are left out and listed; a forced one is refused", async () => {
    const model = await matrix.model(family, "messages", "claude", { ...thoughts, text: "Done." })
    const body = { model: model.id, tools: claudeTools, messages: claudeHistory, mcp_servers: [{ type: "url", url: "https://x", name: "x" }] }
    const reply = await post(body)
    expect([reply.status, reply.json.error?.message]).toEqual([200, undefined])
    for (const listed of ["tools.web_search_20250305", "tools.tool_search_tool_regex_20251119", "tools.text_editor_20250728", "tools.code_execution_20250825", "mcp_servers", "tool_reference (as text)"]) {
      expect(reply.omitted).toContain(listed)
    }
    const [seen] = await matrix.arrived(family, model.name)
    expect(seen?.tools).toEqual(["Bash", "mcp__big__tool"])
    expect(JSON.stringify(seen?.assistant)).toContain("https://effect.website")
    expect(JSON.stringify(seen?.assistant)).not.toContain("EqgfCioIARgBIiQ")
    expect(seen?.results[0]?.text).toContain("mcp__big__tool")
    const forced = await post({ ...body, tool_choice: { type: "tool", name: "web_search" } })
    expect([forced.status, forced.json.error?.message]).toEqual([400, expect.stringContaining("tool_choice")])
  })
})

describe("a generateContent agent", () => {
  it.each(families.filter(({ name }) => name !== "generateContent"))("towards $name: searches and code of the vendor are left out, its history is text, odd names come back", async (family) => {
    const name = "default_api:read.file"
    const model = await matrix.model(family, "generateContent", "gemini", { ...thoughts, toolCalls: [{ name: "default_api_read_file", arguments: { path: "a" } }] })
    const reply = await fetch(`${matrix.url}/v1beta/models/${model.id}:generateContent`, {
      method: "POST", headers: { "x-goog-api-key": matrix.key, "content-type": "application/json" },
      body: JSON.stringify({
        contents: [
          { role: "user", parts: [{ text: "Sum." }] },
          { role: "model", parts: [{ executableCode: { language: "PYTHON", code: "print(55)" } }, { codeExecutionResult: { outcome: "OUTCOME_OK", output: "55\n" } }] },
          { role: "user", parts: [{ text: "More." }] }
        ],
        tools: [{ googleSearch: {} }, { urlContext: {} }, { codeExecution: {} }, { functionDeclarations: [{ name, parameters: { type: "OBJECT", properties: {} } }] }]
      })
    })
    const answer = await reply.json() as { readonly candidates: ReadonlyArray<{ readonly content: { readonly parts: ReadonlyArray<{ readonly functionCall?: { readonly name: string } }> } }> }
    expect([reply.status, answer]).toEqual([200, answer])
    expect(reply.headers.get("x-gateway-omitted")).toContain("tools.googleSearch")
    expect(answer.candidates[0]?.content.parts.flatMap((part) => part.functionCall?.name ?? [])).toEqual([name])
    const [seen] = await matrix.arrived(family, model.name)
    expect(JSON.stringify(seen?.assistant)).toContain("print(55)")
  })
})
