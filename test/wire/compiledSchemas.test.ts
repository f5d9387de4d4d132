import * as SchemaAOTCompiler from "effect/schema/SchemaAOTCompiler"
import { describe, expect, it } from "vitest"
import type * as SchemaAST from "effect/SchemaAST"
import * as ChatCompletions from "#schemas/wire/chatCompletions.ts"
import * as Completions from "#schemas/wire/completions.ts"
import * as GenerateContent from "#schemas/wire/generateContent.ts"
import * as LocalModelServer from "#schemas/wire/localModelServer.ts"
import * as Messages from "#schemas/wire/messages.ts"
import * as Responses from "#schemas/wire/responses.ts"
import { PublicError } from "#schemas/errors.ts"
import { clients } from "#src/wire/formats.ts"

/** Of what is generated for a schema: how the schema itself is decoded. `decodeEffect` steps through it node by node. */
const operationOf = (ast: SchemaAST.AST): string | undefined =>
  /switch\(operation\)\{case "(\w+)"/.exec(SchemaAOTCompiler.compile([{ ast, operations: ["decode"] }]))?.[1]

describe("a request's schema", () => {
  it.each([
    ["chat-completions", ChatCompletions.Request.ast], ["completions", Completions.Request.ast], ["messages", Messages.Request.ast], ["count_tokens", Messages.CountRequest.ast],
    ["responses", Responses.Request.ast], ["generateContent", GenerateContent.Request.ast], ["local-model-server", LocalModelServer.Request.ast]
  ])("of %s is compiled as one function: small enough, without a transformation or a schema of itself", (_, ast) => {
    expect(operationOf(ast)).toBe("decode")
  })
})

describe("what a type does not fit", () => {
  const paramOf = (face: string, body: object): unknown => {
    const error = clients.find(({ name }) => name === face)?.decodeRequest({ model: "m", ...body })
    return error instanceof PublicError ? error.extra?.["param"] : error
  }

  it.each([
    ["chat-completions", { messages: [{ role: "user", content: [{ text: "x" }] }] }, "messages[0].content[0].type"],
    ["chat-completions", { messages: [{ role: "user", content: [{ type: "text" }] }] }, "messages[0].content[0].text"],
    ["chat-completions", { messages: [{ role: "nobody", content: "x" }] }, "messages[0].role"],
    ["chat-completions", { messages: [{ content: "x" }] }, "messages[0].role"],
    ["chat-completions", { messages: [{ role: "user", content: "x" }], tools: [{ type: "function" }] }, "tools[0].function"],
    ["chat-completions", { messages: [{ role: "user", content: "x" }], tools: [{}] }, "tools[0].type"],
    ["messages", { messages: [{ role: "user", content: [{ text: "x" }] }] }, "messages[0].content[0].type"],
    ["messages", { messages: [{ role: "user", content: [{ type: 5 }] }] }, "messages[0].content[0].type"],
    ["messages", { messages: [{ role: "user", content: [{ type: "tool_result" }] }] }, "messages[0].content[0].tool_use_id"],
    ["responses", { input: [{ type: 5 }] }, "input[0].type"],
    ["responses", { input: [{ type: "function_call", name: "x", arguments: "" }] }, "input[0].call_id"],
    ["responses", { input: [{ type: "message", role: "user", content: [{ text: "x" }] }] }, "input[0].content[0].type"],
    ["responses", { input: "x", tools: [{}] }, "tools[0].type"],
    ["responses", { input: "x", tool_choice: {} }, "tool_choice.type"]
  ])("is named by its own path in %s: %j", (face, body, param) => {
    expect(paramOf(face, body)).toBe(param)
  })
})
