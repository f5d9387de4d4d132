/** Which wire format a request or a stream is in, by the members that only one format has, and by what the codecs can read. Pure. */
import { PublicError } from "#schemas/errors.ts"
import type { FamilyName, FormatName } from "#schemas/wire/conversation.ts"
import * as Formats from "#src/wire/formats.ts"
import * as Json from "#src/wire/json/json.ts"

type Body = Readonly<Record<string, unknown>>

/** One format that a body may be in. */
export interface Reading {
  readonly format: FormatName
  /** The codec can read the whole body. */
  readonly readable: boolean
  /** What speaks for the format, as paths in the body. */
  readonly evidence: ReadonlyArray<string>
  /** Why the codec cannot read it; null when it can. */
  readonly problem: { readonly field: string | null; readonly message: string } | null
}

export interface Detected {
  /** Null when no codec can read the body. */
  readonly format: FormatName | null
  /** More speaks for it than for any other readable format. */
  readonly sure: boolean
  /** Those with evidence or a codec that can read the body, the likeliest first. */
  readonly readings: ReadonlyArray<Reading>
}

/** Members that a format has and the others with messages lack. */
const members: Readonly<Record<FormatName, ReadonlyArray<string>>> = {
  "chat-completions": [
    "max_completion_tokens", "response_format", "stream_options", "frequency_penalty", "presence_penalty", "logit_bias", "parallel_tool_calls",
    "reasoning_effort", "functions", "function_call", "modalities", "stop", "n", "seed"
  ],
  "completions": ["prompt", "suffix", "echo", "best_of"],
  "messages": ["system", "stop_sequences", "thinking", "anthropic_version", "mcp_servers", "context_management"],
  "responses": ["input", "instructions", "previous_response_id", "max_output_tokens", "include", "truncation", "text", "store", "background"],
  "generateContent": ["contents", "generationConfig", "systemInstruction", "system_instruction", "safetySettings", "toolConfig", "cachedContent"],
  "local-model-server": ["options", "keep_alive", "format", "think"]
}

const recordsIn = (value: unknown): ReadonlyArray<Body> => Array.isArray(value) ? value.filter(Json.isRecord) : []

/** Marks inside messages and tools. */
const marks = (body: Body): ReadonlyArray<readonly [format: FormatName, path: string]> => {
  const found: Array<readonly [FormatName, string]> = []
  for (const [at, message] of recordsIn(body["messages"]).entries()) {
    const path = `messages.${at}`
    const { role } = message
    // A system message stands among the messages of several formats.
    if (role === "developer") found.push(["chat-completions", `${path}.role`])
    if (Array.isArray(message["images"])) found.push(["local-model-server", `${path}.images`])
    if (typeof message["tool_call_id"] === "string") found.push(["chat-completions", `${path}.tool_call_id`], ["local-model-server", `${path}.tool_call_id`])
    for (const [i, call] of recordsIn(message["tool_calls"]).entries()) {
      const spoken = Json.recordAt(call, "function")?.["arguments"]
      found.push([typeof spoken === "string" ? "chat-completions" : "local-model-server", `${path}.tool_calls.${i}`])
    }
    for (const [i, part] of recordsIn(message["content"]).entries()) {
      const { type } = part
      if (type === "tool_use" || type === "tool_result" || type === "thinking" || type === "image" || type === "document") {
        found.push(["messages", `${path}.content.${i}`])
      }
      if (type === "image_url" || type === "input_audio" || type === "file") found.push(["chat-completions", `${path}.content.${i}`])
    }
  }
  for (const [at, tool] of recordsIn(body["tools"]).entries()) {
    if (Json.isRecord(tool["input_schema"])) found.push(["messages", `tools.${at}.input_schema`])
    else if (Json.isRecord(tool["function"])) found.push(["chat-completions", `tools.${at}.function`], ["local-model-server", `tools.${at}.function`])
    else if (Array.isArray(tool["functionDeclarations"])) found.push(["generateContent", `tools.${at}.functionDeclarations`])
    else if (tool["type"] === "function" && typeof tool["name"] === "string") found.push(["responses", `tools.${at}.name`])
  }
  return found
}

const formatProblem = (format: FormatName, body: Body): Reading["problem"] => {
  const codec = Formats.client(format)
  // Some formats say the model in the path: what is asked is whether the rest can be read.
  const whole = { model: "model", ...body }
  const head = codec.head(whole)
  const read = head instanceof PublicError ? head : codec.decodeRequest(whole)
  if (!(read instanceof PublicError)) return null
  const param = read.extra?.["param"]
  return { field: typeof param === "string" ? param : null, message: read.message }
}

/** Formats that bodies without any evidence are read as, the likeliest first. */
const formats: ReadonlyArray<FormatName> = ["chat-completions", "messages", "responses", "generateContent", "local-model-server", "completions"]

const evidenceShown = 20

export const ofRequest = (body: Body): Detected => {
  const inside = marks(body)
  const readings = formats.map((format, place) => {
    const evidence = [...members[format].filter((name) => Object.hasOwn(body, name)), ...inside.filter(([of]) => of === format).map(([, path]) => path)]
    const problem = formatProblem(format, body)
    return { place, weight: evidence.length, reading: { format, readable: problem === null, evidence: evidence.slice(0, evidenceShown), problem } }
  })
    .filter(({ reading, weight }) => reading.readable || weight > 0)
    .sort((a, b) => Number(b.reading.readable) - Number(a.reading.readable) || b.weight - a.weight || a.place - b.place)
  const [first, second] = readings
  const chosen = first !== undefined && first.reading.readable ? first : null
  return {
    format: chosen?.reading.format ?? null,
    sure: chosen !== null && (second === undefined || !second.reading.readable || chosen.weight > second.weight),
    readings: readings.map(({ reading }) => reading)
  }
}

/** The format of an event or a line of a stream; null when it could be any. */
const familyOfFrame = (frame: Body): FamilyName | null => {
  const { type } = frame
  if (typeof type === "string") {
    if (type.startsWith("response.")) return "responses"
    if (/^(?:message_|content_block_)/.test(type)) return "messages"
  }
  if (Array.isArray(frame["choices"])) return "chat-completions"
  if (Array.isArray(frame["candidates"]) || Json.isRecord(frame["promptFeedback"])) return "generateContent"
  return typeof frame["done"] === "boolean" && Json.isRecord(frame["message"]) ? "local-model-server" : null
}

/** Lines that are looked at. */
const framesRead = 200

/** The family of a recorded stream: events of `data:` lines, or lines of JSON. Null when none of its frames says. */
export const ofStream = (text: string): FamilyName | null => {
  let from = 0
  for (let line = 0; line < framesRead && from < text.length; line++) {
    const end = text.indexOf("\n", from)
    const frame = Json.parseRecord(text.slice(from, end === -1 ? text.length : end).replace(/^data:/, "").trim())
    const family = frame === null ? null : familyOfFrame(frame)
    if (family !== null) return family
    from = end === -1 ? text.length : end + 1
  }
  return null
}
