/**
 * Tools that take free text, for formats whose tools have JSON arguments: the tool is a function with one text member, and its calls are
 * taken apart again. What the tool's grammar allows is said to the model in words.
 */
import type { CustomTool, FunctionTool } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"
import { FreeText, member } from "#src/wire/stream/FreeText.ts"
import { escape, unescape } from "#src/wire/stream/literal.ts"

export const wrappedTool = (tool: CustomTool): FunctionTool => ({
  kind: "function", name: tool.name, description: tool.description, strict: null, cache: null,
  parameters: {
    type: "object",
    properties: { [member]: { type: "string", description: `The whole input of the tool as plain text.${grammarOf(tool.format)}` } },
    required: [member],
    additionalProperties: false
  }
})

const grammarOf = (format: unknown): string => {
  if (!Json.isRecord(format) || typeof format["definition"] !== "string") return ""
  const syntax = typeof format["syntax"] === "string" ? `${format["syntax"]} ` : ""
  return ` It must match this ${syntax}grammar:\n${format["definition"]}`
}

/** JSON arguments that say the free text. */
export const wrapped = (input: string): string => JSON.stringify({ [member]: input })

/** The free text in a model's arguments. */
export const unwrapped = (args: string): string => {
  const text = new FreeText()
  return unescape(text.push(escape(args)) + text.end())
}
