/**
 * Bodies whose conversation stands in `input` or `prompt`: some editors send them here. They become bodies with `messages` before anything
 * else is read of them. `input` is what the responses format has there, and its members beside it are read as that format means them;
 * members of neither stay as they are.
 */
import { PublicError } from "#schemas/errors.ts"
import * as WireResponses from "#schemas/wire/responses.ts"
import { abilitiesOf } from "#src/wire/chatCompletions/models.ts"
import { promptOf } from "#src/wire/completions/decodeRequest.ts"
import * as Json from "#src/wire/json/json.ts"
import * as LongIntegers from "#src/wire/longIntegers/longIntegers.ts"
import { invalid, Omitted, reading } from "#src/wire/neutral/settings.ts"
import { decodeRequest } from "#src/wire/responses/request/decodeRequest.ts"
import type { Json as Body, TargetTraits } from "#src/wire/WireFormat.ts"
import { bodyOf } from "./encodeRequest.ts"

/** The bytes with messages; null for a body that has some, or has nothing in their place. Called for every request: those with messages are known by one look. */
export const withMessages = (body: Body, bytes: Buffer): Buffer | PublicError | null => {
  const { messages } = body
  if (Array.isArray(messages) ? messages.length > 0 : messages !== undefined && messages !== null) return null
  const said = ofInput(body) ?? ofPrompt(body)
  if (said === null || said instanceof PublicError) return said
  const exact = LongIntegers.parseRecord(bytes.toString("utf8")) ?? body
  const kept = Object.entries(exact).filter(([name]) => !said.read.has(name))
  // A name may be `__proto__`.
  return Buffer.from(JSON.stringify(Object.fromEntries([...kept, ...Object.entries(said.members)])))
}

interface Said {
  /** What the format has in place of what was read. */
  readonly members: Body
  /** Names of what was read. */
  readonly read: ReadonlySet<string>
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null

// ---- input -----------------------------------------------------------------------------------------------------------------------

const ofInput = (body: Body): Said | PublicError | null => {
  const { input, model } = body
  // What is wrong with the model is said in this format's words.
  if (typeof model !== "string" || model === "" || (typeof input !== "string" && !Array.isArray(input)) || input.length === 0) return null
  return Array.isArray(input) && input.some(isMessage) ? ofMessages(body, input) : ofItems(body, model)
}

/** Parts of this format that the responses format does not have. */
const ownParts: ReadonlySet<unknown> = new Set(["text", "image_url", "file"])

/** A message of this format, which merely stands in the wrong member. */
const isMessage = (item: unknown): boolean => Json.isRecord(item) && isAbsent(item["type"]) && typeof item["role"] === "string" && (
  item["role"] === "tool" || item["role"] === "function" || !isAbsent(item["tool_calls"])
  || (Array.isArray(item["content"]) && item["content"].some((part: unknown) => Json.isRecord(part) && ownParts.has(part["type"])))
)

const moved: ReadonlySet<string> = new Set(["input", "messages", "instructions"])

const ofMessages = ({ instructions }: Body, input: ReadonlyArray<unknown>): Said => ({
  members: { messages: typeof instructions === "string" && instructions !== "" ? [{ role: "system", content: instructions }, ...input] : input },
  read: moved
})

/** Streams are asked for in the same words. */
const shared: ReadonlySet<string> = new Set(["stream"])
const itemMembers: ReadonlySet<string> = new Set([
  "messages", "truncation", "conversation", "prompt", ...Object.keys(WireResponses.Request.fields).filter((name) => !shared.has(name))
])

const ofItems = (body: Body, model: string): Said | PublicError => {
  const conversation = decodeRequest({ ...body, tools: flatTools(body["tools"]), tool_choice: flat(body["tool_choice"]) })
  if (conversation instanceof PublicError) return conversation
  return reading(() => {
    // The target is not known yet: what it cannot be told is found out, and said, when it is.
    const can = { ...abilitiesOf(traitsOf(model)), developer: true, freeform: true, newLimit: false, sampling: true, effort: true }
    const tools = conversation.tools.filter(({ kind }) => kind !== "hosted")
    const members = bodyOf({ ...conversation, tools, extras: conversation.extras.filter(({ weight }) => weight === "essential") }, traitsOf(model), can, new Omitted())
    const hosted = conversation.tools.flatMap((tool) => tool.kind === "hosted" ? [tool.value] : [])
    return { members: hosted.length === 0 ? members : { ...members, tools: [...listAt(members, "tools"), ...hosted] }, read: itemMembers }
  })
}

const listAt = (members: Body, name: string): ReadonlyArray<unknown> => Array.isArray(members[name]) ? members[name] : []

const traitsOf = (model: string): TargetTraits => ({ model, stream: false, maxOutputTokens: null, reasoning: null, streamOptions: false, previousResponseId: "auto" })

/** Tools as this format nests them may stand beside items of the other. */
const flatTools = (tools: unknown): unknown => Array.isArray(tools) ? tools.map(flat) : tools

const flat = (tool: unknown): unknown => {
  if (!Json.isRecord(tool)) return tool
  const { custom, function: callable, ...rest } = tool
  const inside = tool["type"] === "function" ? callable : tool["type"] === "custom" ? custom : undefined
  return Json.isRecord(inside) ? { ...rest, ...inside } : tool
}

// ---- prompt ----------------------------------------------------------------------------------------------------------------------

const inPrompt: ReadonlySet<string> = new Set(["prompt", "messages"])

const ofPrompt = ({ prompt }: Body): Said | PublicError | null => {
  if (isAbsent(prompt)) return null
  if (Array.isArray(prompt) && prompt.length > 0 && prompt.every((item) => Json.isRecord(item))) return { members: { messages: prompt }, read: inPrompt }
  if (typeof prompt !== "string" && !(Array.isArray(prompt) && prompt.length > 0)) return invalid("prompt", "Field 'prompt' must be a non-empty string; better, send 'messages'.")
  return reading(() => ({ members: { messages: [{ role: "user", content: promptOf(prompt) }] }, read: inPrompt }))
}
