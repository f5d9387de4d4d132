/**
 * The first form of calls, `functions` and `function_call`, which the vendor has deprecated. Its clients read one call of an answer in
 * `message.function_call`, and none in `tool_calls` (https://platform.openai.com/docs/api-reference/chat).
 */
import type { FinishReason } from "#schemas/wire/conversation.ts"
import { writeFinish } from "./finish.ts"
import type { Json } from "#src/wire/WireFormat.ts"

const said: Json = { functions: true }
const nothing: Json = {}

/** What the answer needs to know of the request, or of what is left of it: whether its tools have this form alone. */
export const repeatedOf = ({ functions, tools }: Json): Json =>
  functions === said["functions"] || (Array.isArray(functions) && functions.length > 0 && !(Array.isArray(tools) && tools.length > 0)) ? said : nothing

/** `request`: as `repeatedOf` tells it. */
export const areUsed = (request: Json): boolean => request["functions"] !== undefined

/** `isCalled`: a call was written in this form. */
export const finishOf = (reason: FinishReason | null, hasRefusal: boolean, isCalled: boolean): string =>
  isCalled && reason === "tool-calls" ? "function_call" : writeFinish(reason, hasRefusal)
