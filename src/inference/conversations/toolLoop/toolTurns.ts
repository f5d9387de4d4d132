/** Turns of a conversation in which the gateway runs tools. Pure. */
import * as Predicate from "effect/Predicate"
import type { Answer, ContentPart, Conversation, FunctionTool, ToolCallPart, ToolResultPart, Turn } from "#schemas/wire/conversation.ts"
import * as Instructions from "#actors/ensemble/instructions.ts"
import { compileGlob } from "#src/routing/models/glob.ts"
import type { ServerTool } from "#src/inference/ports/ServerTools.ts"

type Json = Readonly<Record<string, unknown>>

/** Characters of a result that the model is told. */
export const RESULT_MAX = 100_000
const PATTERNS_MAX = 50

/** Does the header ask for a tool? `*` and `all` ask for every one; else names of servers, or patterns of tools, between commas. */
export const asking = (header: string): (name: string) => boolean => {
  const patterns = header.split(",").map((word) => word.trim()).filter((word) => word !== "").slice(0, PATTERNS_MAX)
  if (patterns.some((pattern) => pattern === "*" || pattern.toLowerCase() === "all")) return () => true
  const globs = patterns.map((pattern) => compileGlob(pattern.includes("__") || pattern.includes("*") ? pattern : `${pattern}__*`))
  return (name) => globs.some((matches) => matches(name))
}

/** A tool of the gateway's as a model is told of it. */
export const functionOf = ({ described, name }: ServerTool): FunctionTool => {
  const { description, inputSchema } = described
  return { kind: "function", name, description: typeof description === "string" ? description : null, parameters: Predicate.isReadonlyObject(inputSchema) ? inputSchema : null, strict: null, cache: null }
}

/** The calls of an answer: those that the gateway runs, and whether there are others. */
export const callsOf = (answer: Answer, own: ReadonlySet<string>): { readonly own: ReadonlyArray<ToolCallPart>; readonly others: boolean } => {
  const calls = (answer.choices[0]?.parts ?? []).filter((part) => part.kind === "toolCall")
  return { own: calls.filter(({ custom, name }) => !custom && own.has(name)), others: calls.some(({ custom, name }) => custom || !own.has(name)) }
}

/** The answer without the calls of tools that the client does not know. */
export const withoutOwn = (answer: Answer, own: ReadonlySet<string>): Answer => ({
  ...answer,
  choices: answer.choices.map((choice) => ({ ...choice, parts: choice.parts.filter((part) => part.kind !== "toolCall" || part.custom || !own.has(part.name)) }))
})

/** The arguments as an object; null when the model wrote something else. */
export const argumentsOf = ({ arguments: text }: ToolCallPart): Json | null => {
  try {
    const value: unknown = text.trim() === "" ? {} : JSON.parse(text)
    return Predicate.isReadonlyObject(value) ? value : null
  } catch {
    return null
  }
}

const spoken = (block: unknown): string => {
  if (!Predicate.isReadonlyObject(block)) return ""
  const { resource, type } = block
  if (type === "text" && typeof block["text"] === "string") return block["text"]
  if (type === "resource" && Predicate.isReadonlyObject(resource) && typeof resource["text"] === "string") return resource["text"]
  if (type === "resource_link" && typeof block["uri"] === "string") return `[resource ${block["uri"]}]`
  return `[${String(type)} that cannot be shown]`
}

/** An MCP result as text for the model. */
const textOf = (result: Json): string => {
  const content = Array.isArray(result["content"]) ? result["content"].map(spoken).join("\n") : ""
  const text = content === "" && result["structuredContent"] !== undefined ? JSON.stringify(result["structuredContent"]) : content
  return text.length <= RESULT_MAX ? text : `${text.slice(0, RESULT_MAX)}\n[${text.length - RESULT_MAX} more characters were left out]`
}

/** The result of a call as the model is told it. */
export const resultOf = ({ id, name }: ToolCallPart, result: Json): ToolResultPart => ({
  kind: "toolResult", id, name, content: [Instructions.textPart(textOf(result))], isError: result["isError"] === true, cache: null
})

const turnOf = (role: Turn["role"], parts: ReadonlyArray<ContentPart>): Turn => ({ role, parts, name: null, path: "tools" })

/** What was answered and found out, before the next question. A tool that had to be called was called: now the model may answer. */
export const continued = (conversation: Conversation, answer: Answer, results: ReadonlyArray<ToolResultPart>): Conversation => ({
  ...conversation,
  turns: [...conversation.turns, turnOf("assistant", answer.choices[0]?.parts ?? []), turnOf("tool", results)],
  toolChoice: conversation.toolChoice === null || conversation.toolChoice.kind === "none" ? conversation.toolChoice : { kind: "auto" }
})

/** The question whose answer is the client's: no tool may be called any more. */
export const lastOf = (conversation: Conversation): Conversation => ({ ...conversation, toolChoice: { kind: "none" } })
