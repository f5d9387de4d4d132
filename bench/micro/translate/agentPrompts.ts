/** A coding agent's request in each face's own words: instructions, tools, and steps of which each calls a tool and reads its result. */
import type { FormatName } from "#schemas/wire/conversation.ts"

const line = 'export const read = (path: string): string => files.get(path) ?? "nothing" // one line of a program\n'
const instructions = line.repeat(30)
const task = line.repeat(3)
const thought = "I read the file first."
const result = line.repeat(5)
const more = "Go on."
const bytesPerStep = 900
const description = line.repeat(2)
const parameters = {
  type: "object",
  properties: { path: { type: "string", description: "The file's path" }, limit: { type: "integer", description: "Lines at most" } },
  required: ["path"]
}
const names: ReadonlyArray<string> = Array.from({ length: 12 }, (_, i) => `tool_${i}`)

interface Step {
  readonly id: string
  readonly name: string
  readonly args: { readonly path: string }
}

const stepsOf = (bytes: number): ReadonlyArray<Step> =>
  Array.from({ length: Math.ceil(bytes / bytesPerStep) }, (_, i) => ({ id: `call_${i}`, name: names[i % names.length] ?? "", args: { path: `src/${i}.ts` } }))

/** Null where the face knows no tools. */
export const agentPromptOf = (face: FormatName, bytes: number): Record<string, unknown> | null => {
  const steps = stepsOf(bytes)
  switch (face) {
    case "chat-completions":
      return {
        model: "m", stream: true,
        messages: [
          { role: "system", content: instructions }, { role: "user", content: [{ type: "text", text: task }] },
          ...steps.flatMap(({ args, id, name }) => [
            { role: "assistant", content: thought, tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(args) } }] },
            { role: "tool", tool_call_id: id, content: result },
            { role: "user", content: [{ type: "text", text: more }] }
          ])
        ],
        tools: names.map((name) => ({ type: "function", function: { name, description, parameters } }))
      }
    case "messages":
      return {
        model: "m", max_tokens: 1024, stream: true, system: [{ type: "text", text: instructions }],
        messages: [
          { role: "user", content: [{ type: "text", text: task }] },
          ...steps.flatMap(({ args, id, name }) => [
            { role: "assistant", content: [{ type: "text", text: thought }, { type: "tool_use", id, name, input: args }] },
            { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: [{ type: "text", text: result }] }, { type: "text", text: more }] }
          ])
        ],
        tools: names.map((name) => ({ name, description, input_schema: parameters }))
      }
    case "responses":
      return {
        model: "m", stream: true, instructions,
        input: [
          { role: "user", content: [{ type: "input_text", text: task }] },
          ...steps.flatMap(({ args, id, name }) => [
            { type: "message", role: "assistant", content: [{ type: "output_text", text: thought, annotations: [] }] },
            { type: "function_call", call_id: id, name, arguments: JSON.stringify(args) },
            { type: "function_call_output", call_id: id, output: result },
            { role: "user", content: [{ type: "input_text", text: more }] }
          ])
        ],
        tools: names.map((name) => ({ type: "function", name, description, parameters }))
      }
    case "generateContent":
      return {
        model: "m", systemInstruction: { parts: [{ text: instructions }] },
        contents: [
          { role: "user", parts: [{ text: task }] },
          ...steps.flatMap(({ args, name }) => [
            { role: "model", parts: [{ text: thought }, { functionCall: { name, args } }] },
            { role: "user", parts: [{ functionResponse: { name, response: { output: result } } }, { text: more }] }
          ])
        ],
        tools: [{ functionDeclarations: names.map((name) => ({ name, description, parameters })) }]
      }
    case "local-model-server":
      return {
        model: "m",
        messages: [
          { role: "system", content: instructions }, { role: "user", content: task },
          ...steps.flatMap(({ args, name }) => [
            { role: "assistant", content: thought, tool_calls: [{ function: { name, arguments: args } }] },
            { role: "tool", tool_name: name, content: result },
            { role: "user", content: more }
          ])
        ],
        tools: names.map((name) => ({ type: "function", function: { name, description, parameters } }))
      }
    case "completions":
      return null
  }
}
