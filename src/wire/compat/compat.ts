/** What an operator says of a model's bodies beside their format, in the bytes of a body: every other byte stays. Pure. */
import type { PayloadEdit, Target } from "#actors/request/ports/Target.ts"
import type { FamilyName } from "#schemas/wire/conversation.ts"
import type { ModelCompat } from "#schemas/words/ModelFormats.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Payload from "#src/wire/json/payload.ts"
import * as Preset from "./preset.ts"
import { ToolCallIds } from "./ToolCallIds.ts"

type Body = Readonly<Record<string, unknown>>
type Path = ReadonlyArray<string | number>

/** `isOwn`: the client wrote the body in this format. */
export interface Asked extends Pick<Target, "model" | "thinking"> {
  readonly family: FamilyName
  readonly isOwn: boolean
}

export const apply = (compat: ModelCompat, asked: Asked, body: Uint8Array): Uint8Array => {
  const parsed = Json.parseRecord(asBuffer(body).toString("utf8"))
  const edits = parsed === null ? [] : editsOf(compat, asked, parsed)
  return edits.length === 0 ? body : Payload.apply(edits, body)
}

export const editsOf = (compat: ModelCompat, { family, isOwn, model, thinking }: Asked, body: Body): ReadonlyArray<PayloadEdit> => [
  ...compat.developerRole === false ? roles(family, body) : [],
  ...compat.callsOfNine ? callIds(family, body) : [],
  ...compat.reasoningControl === "chat-template" && family === "chat-completions" ? template(body, thinking) : [],
  ...compat.preset !== null && isOwn ? Preset.editsOf(compat.preset, family, model, body) : []
]

const put = (path: Path, value: unknown): PayloadEdit => ({ kind: "override", path, text: JSON.stringify(value) })

/** The objects of a list, with their place in it. */
const records = (list: unknown): ReadonlyArray<readonly [number, Body]> =>
  Array.isArray(list) ? list.flatMap((item: unknown, at) => Json.isRecord(item) ? [[at, item] as const] : []) : []

// ---- the role developer ----------------------------------------------------------------------------------------------------------

const turnsOf: Partial<Record<FamilyName, string>> = { "chat-completions": "messages", "responses": "input", "local-model-server": "messages" }

const roles = (family: FamilyName, body: Body): ReadonlyArray<PayloadEdit> => {
  const name = turnsOf[family]
  return name === undefined
    ? []
    : records(body[name]).flatMap(([at, { role }]) => role === "developer" ? [put([name, at, "role"], "system")] : [])
}

// ---- ids of tool calls -----------------------------------------------------------------------------------------------------------

/** Where a body names a call or the call of a result, in the order of the conversation. */
const idPaths = (family: FamilyName, body: Body): ReadonlyArray<Path> => {
  switch (family) {
    case "chat-completions":
    case "local-model-server":
      return records(body["messages"]).flatMap(([at, message]) => [
        ...records(message["tool_calls"]).map(([call]) => ["messages", at, "tool_calls", call, "id"]), ["messages", at, "tool_call_id"]
      ])
    case "messages":
      return records(body["messages"]).flatMap(([at, message]) => records(message["content"]).flatMap(([part, { type }]): ReadonlyArray<Path> =>
        type === "tool_use" ? [["messages", at, "content", part, "id"]] : type === "tool_result" ? [["messages", at, "content", part, "tool_use_id"]] : []))
    case "responses":
      // A call of a response that its server stored is known there by the id that it was given.
      return typeof body["previous_response_id"] === "string" ? [] : records(body["input"]).map(([at]) => ["input", at, "call_id"])
    case "generateContent":
      return records(body["contents"]).flatMap(([at, { parts }]) => records(parts).flatMap(([part]) =>
        calls.map((name) => ["contents", at, "parts", part, name, "id"])))
  }
}

const calls = ["functionCall", "function_call", "functionResponse", "function_response"]

const valueAt = (body: Body, path: Path): unknown =>
  path.reduce<unknown>((place, step) => typeof place === "object" && place !== null && Object.hasOwn(place, step) ? (place as Record<string | number, unknown>)[step] : undefined, body)

const callIds = (family: FamilyName, body: Body): ReadonlyArray<PayloadEdit> => {
  const ids = new ToolCallIds()
  return idPaths(family, body).flatMap((path) => {
    const id = valueAt(body, path)
    if (typeof id !== "string" || id === "") return []
    const sent = ids.of(id)
    return sent === id ? [] : [put(path, sent)]
  })
}

// ---- thinking in the variables of a chat template --------------------------------------------------------------------------------

/** Members by which servers of the format are asked to think. */
const spoken = ["reasoning_effort", "reasoning", "thinking", "enable_thinking"]

/** An effort, or whether to think at all; null = nothing was said. */
const wanted = (body: Body, variant: Target["thinking"]): string | boolean | null => {
  if (variant === "off" || variant === "none") return false
  const reasoning = Json.recordAt(body, "reasoning")
  const effort = body["reasoning_effort"] ?? reasoning?.["effort"]
  if (typeof effort === "string") return effort === "none" ? false : effort
  const type = Json.recordAt(body, "thinking")?.["type"]
  const on = body["enable_thinking"] ?? reasoning?.["enabled"] ?? (typeof type === "string" ? type !== "disabled" : null)
  return typeof on === "boolean" ? on : null
}

/** Templates differ in the name of their switch. What the client itself says to the template stays. */
const template = (body: Body, variant: Target["thinking"]): ReadonlyArray<PayloadEdit> => {
  const thinks = wanted(body, variant)
  if (thinks === null) return []
  const variables = { enable_thinking: thinks !== false, thinking: thinks !== false, ...typeof thinks === "string" ? { reasoning_effort: thinks } : {} }
  return [
    ...spoken.filter((name) => Object.hasOwn(body, name)).map((name): PayloadEdit => ({ kind: "filter", path: [name] })),
    ...Object.entries(variables).map(([name, value]): PayloadEdit => ({ kind: "default", path: ["chat_template_kwargs", name], text: JSON.stringify(value) }))
  ]
}
