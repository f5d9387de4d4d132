/**
 * What a request says, read from the body that reached the simulator, once per family. Written from the vendors' documents and not
 * from the gateway's codecs: what both got wrong must not look right.
 */
import type { FamilyName } from "#schemas/wire/conversation.ts"

export interface SeenCall {
  readonly name: string
  readonly args: unknown
}

export interface SeenResult {
  readonly text: string
  /** Null where the family has no word for it. */
  readonly isError: boolean | null
  readonly images: number
}

export interface Seen {
  readonly system: string
  /** Texts of the user's turns, in order. */
  readonly user: ReadonlyArray<string>
  readonly assistant: ReadonlyArray<string>
  readonly calls: ReadonlyArray<SeenCall>
  readonly results: ReadonlyArray<SeenResult>
  /** Base64 of the pictures in the user's turns. */
  readonly images: ReadonlyArray<string>
  /** Proofs that the vendor gave with its thoughts or calls. */
  readonly signatures: ReadonlyArray<string>
  readonly thoughts: ReadonlyArray<string>
  readonly tools: ReadonlyArray<string>
  /** `required`, or the name of the tool that must be called; null when the model decides. */
  readonly forced: string | null
  readonly maxTokens: number | null
  readonly stop: ReadonlyArray<string>
  readonly schema: unknown
  /** Any word that asks for thoughts. */
  readonly thinks: boolean
}

type Json = Readonly<Record<string, unknown>>

const record = (value: unknown): Json => typeof value === "object" && value !== null && !Array.isArray(value) ? value as Json : {}
const list = (value: unknown): ReadonlyArray<Json> => Array.isArray(value) ? value.map(record) : []
const text = (value: unknown): string => typeof value === "string" ? value : ""
const count = (value: unknown): number | null => typeof value === "number" ? value : null
const strings = (value: unknown): ReadonlyArray<string> => Array.isArray(value) ? value.map(text) : typeof value === "string" ? [value] : []
const present = (values: ReadonlyArray<string>): ReadonlyArray<string> => values.filter((value) => value !== "")

/** Parts of a content that may be plain text. */
const parts = (content: unknown, type: string): ReadonlyArray<Json> => typeof content === "string" ? [{ type, text: content }] : list(content)
const joined = (content: unknown): string => parts(content, "text").map((part) => text(part["text"])).join("")
const dataOf = (uri: unknown): string => text(uri).replace(/^data:[^,]*,/, "")

const chat = (body: Json): Seen => {
  const messages = list(body["messages"])
  const of = (...roles: ReadonlyArray<string>) => messages.filter((message) => roles.includes(text(message["role"])))
  const choice = body["tool_choice"]
  const details = of("assistant").flatMap((message) => list(message["reasoning_details"]))
  return {
    system: of("system", "developer").map((message) => joined(message["content"])).join("\n"),
    user: of("user").map((message) => joined(message["content"])),
    assistant: present(of("assistant").map((message) => joined(message["content"]))),
    calls: of("assistant").flatMap((message) => list(message["tool_calls"])).map((call) => ({
      name: text(record(call["function"])["name"]), args: JSON.parse(text(record(call["function"])["arguments"])) as unknown
    })),
    results: of("tool").map((message) => ({ text: joined(message["content"]), isError: null, images: 0 })),
    images: of("user").flatMap((message) => list(message["content"])).filter((part) => part["type"] === "image_url")
      .map((part) => dataOf(record(part["image_url"])["url"])),
    signatures: details.flatMap((detail) => present([text(detail["signature"]), text(detail["data"])])),
    thoughts: of("assistant").flatMap((message) => present([text(message["reasoning_content"])])),
    tools: list(body["tools"]).map((tool) => text(record(tool["function"])["name"])),
    forced: choice === "required" ? "required" : text(record(record(choice)["function"])["name"]) || null,
    maxTokens: count(body["max_completion_tokens"]) ?? count(body["max_tokens"]),
    stop: strings(body["stop"]),
    schema: record(record(body["response_format"])["json_schema"])["schema"],
    thinks: body["reasoning_effort"] !== undefined || body["reasoning"] !== undefined
  }
}

const messages = (body: Json): Seen => {
  const turns = list(body["messages"])
  const blocks = (role: string) => turns.filter((turn) => turn["role"] === role).map((turn) => parts(turn["content"], "text"))
  const all = (role: string, type: string) => blocks(role).flat().filter((block) => block["type"] === type)
  const texts = (role: string) => present(blocks(role).map((own) => own.filter((block) => block["type"] === "text").map((block) => text(block["text"])).join("")))
  const choice = record(body["tool_choice"])
  return {
    system: parts(body["system"], "text").map((block) => text(block["text"])).join("\n"),
    user: texts("user"),
    assistant: texts("assistant"),
    calls: all("assistant", "tool_use").map((block) => ({ name: text(block["name"]), args: block["input"] })),
    results: all("user", "tool_result").map((block) => ({
      text: joined(block["content"]), isError: block["is_error"] === true, images: list(block["content"]).filter((one) => one["type"] === "image").length
    })),
    images: all("user", "image").map((block) => text(record(block["source"])["data"])),
    signatures: [...all("assistant", "thinking").map((block) => text(block["signature"])), ...all("assistant", "redacted_thinking").map((block) => text(block["data"]))],
    thoughts: all("assistant", "thinking").map((block) => text(block["thinking"])),
    tools: list(body["tools"]).map((tool) => text(tool["name"])),
    forced: choice["type"] === "any" ? "required" : choice["type"] === "tool" ? text(choice["name"]) : null,
    maxTokens: count(body["max_tokens"]),
    stop: strings(body["stop_sequences"]),
    schema: record(record(body["output_config"])["format"])["schema"],
    thinks: ["enabled", "adaptive"].includes(text(record(body["thinking"])["type"]))
  }
}

const responses = (body: Json): Seen => {
  const items = parts(body["input"], "message").map((item): Json => item["text"] === undefined ? item : { type: "message", role: "user", content: item["text"] })
  const of = (type: string) => items.filter((item) => (item["type"] ?? "message") === type)
  const said = (...roles: ReadonlyArray<string>) => of("message").filter((item) => roles.includes(text(item["role"])))
  const choice = body["tool_choice"]
  const reasoning = of("reasoning")
  return {
    system: present([text(body["instructions"]), ...said("system", "developer").map((item) => joined(item["content"]))]).join("\n"),
    user: said("user").map((item) => joined(item["content"])),
    assistant: said("assistant").map((item) => joined(item["content"])),
    calls: of("function_call").map((item) => ({ name: text(item["name"]), args: JSON.parse(text(item["arguments"])) as unknown })),
    results: of("function_call_output").map((item) => ({
      text: joined(item["output"]), isError: null, images: list(item["output"]).filter((part) => part["type"] === "input_image").length
    })),
    images: said("user").flatMap((item) => list(item["content"])).filter((part) => part["type"] === "input_image").map((part) => dataOf(part["image_url"])),
    signatures: reasoning.flatMap((item) => present([text(item["encrypted_content"])])),
    thoughts: reasoning.flatMap((item) => list(item["summary"])).map((part) => text(part["text"])),
    tools: list(body["tools"]).map((tool) => text(tool["name"])),
    forced: choice === "required" ? "required" : text(record(choice)["name"]) || null,
    maxTokens: count(body["max_output_tokens"]),
    stop: [],
    schema: record(record(body["text"])["format"])["schema"],
    thinks: body["reasoning"] !== undefined
  }
}

const generateContent = (body: Json): Seen => {
  // The vendor's chats keep every piece of a stream as a content of its own.
  const contents: Array<{ readonly role: unknown; readonly parts: ReadonlyArray<Json> }> = []
  for (const { parts: own, role } of list(body["contents"])) {
    const last = contents.at(-1)
    if (last !== undefined && last.role === role) contents[contents.length - 1] = { role, parts: [...last.parts, ...list(own)] }
    else contents.push({ role, parts: list(own) })
  }
  const of = (role: string) => contents.filter((content) => content.role === role).map((content) => content.parts)
  const said = (own: ReadonlyArray<Json>) => own.filter((part) => part["thought"] !== true).map((part) => text(part["text"])).join("")
  const config = record(body["generationConfig"])
  const calling = record(record(body["toolConfig"])["functionCallingConfig"])
  return {
    system: list(record(body["systemInstruction"])["parts"]).map((part) => text(part["text"])).join("\n"),
    user: present(of("user").map(said)),
    assistant: present(of("model").map(said)),
    calls: of("model").flat().filter((part) => part["functionCall"] !== undefined).map((part) => record(part["functionCall"]))
      .map((call) => ({ name: text(call["name"]), args: call["args"] })),
    results: of("user").flat().filter((part) => part["functionResponse"] !== undefined).map((part) => {
      const { parts: media, response } = record(part["functionResponse"])
      const own = record(response)
      const said = own["error"] ?? own["result"] ?? own["output"] ?? own
      return { text: typeof said === "string" ? said : JSON.stringify(said), isError: own["error"] !== undefined, images: list(media).length }
    }),
    images: of("user").flat().flatMap((part) => present([text(record(part["inlineData"])["data"])])),
    signatures: of("model").flat().flatMap((part) => present([text(part["thoughtSignature"])])),
    thoughts: of("model").flat().filter((part) => part["thought"] === true).map((part) => text(part["text"])),
    tools: list(body["tools"]).flatMap((tool) => list(tool["functionDeclarations"])).map((tool) => text(tool["name"])),
    forced: calling["mode"] !== "ANY" ? null : strings(calling["allowedFunctionNames"])[0] ?? "required",
    maxTokens: count(config["maxOutputTokens"]),
    stop: strings(config["stopSequences"]),
    schema: config["responseJsonSchema"] ?? config["responseSchema"],
    thinks: record(config["thinkingConfig"])["includeThoughts"] === true
  }
}

const local = (body: Json): Seen => {
  const all = list(body["messages"])
  const of = (role: string) => all.filter((message) => message["role"] === role)
  const options = record(body["options"])
  const { format } = body
  return {
    system: of("system").map((message) => text(message["content"])).join("\n"),
    user: of("user").map((message) => text(message["content"])),
    assistant: present(of("assistant").map((message) => text(message["content"]))),
    calls: of("assistant").flatMap((message) => list(message["tool_calls"])).map((call) => record(call["function"]))
      .map((call) => ({ name: text(call["name"]), args: call["arguments"] })),
    results: of("tool").map((message) => ({ text: text(message["content"]), isError: null, images: strings(message["images"]).length })),
    images: of("user").flatMap((message) => strings(message["images"])),
    signatures: [],
    thoughts: of("assistant").flatMap((message) => present([text(message["thinking"])])),
    tools: list(body["tools"]).map((tool) => text(record(tool["function"])["name"])),
    forced: null,
    maxTokens: count(options["num_predict"]),
    stop: strings(options["stop"]),
    schema: format === "json" ? undefined : format,
    thinks: body["think"] !== undefined && body["think"] !== false
  }
}

const readers: Readonly<Record<FamilyName, (body: Json) => Seen>> = {
  "chat-completions": chat, messages, responses, generateContent, "local-model-server": local
}

export const seen = (family: FamilyName, body: unknown): Seen => readers[family](record(body))
