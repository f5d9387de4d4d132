/**
 * The texts of a request that the engines may be asked about, in the order in which a model reads them, each with its path in the body.
 * Tools, calls, thoughts, media, and everything of unknown shape are no texts. Pure.
 */
import type { Role } from "#schemas/words/Compression.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"
import { commandOf, lineOf } from "./command.ts"
import type { Called, Piece } from "./Piece.ts"

export interface Found extends Piece {
  readonly path: ReadonlyArray<string | number>
}

type Path = ReadonlyArray<string | number>
type Body = Readonly<Record<string, unknown>>

/** What a result of a tool comes from. */
type Source = Required<Pick<Piece, "called" | "command" | "failed" | "tool">>
const none: Source = { called: null, command: null, failed: false, tool: null }
/** What says of itself that it failed: no engine knows where it comes from. */
const failure: Source = { ...none, failed: true }

const textTypes = new Set(["text", "input_text", "output_text"])
const roles: ReadonlyMap<unknown, Role> = new Map([
  ["system", "system"], ["developer", "system"], ["user", "user"], ["assistant", "assistant"], ["model", "assistant"], ["tool", "tool"], ["function", "tool"]
])

class Collector {
  readonly found: Array<Found> = []
  /** How many of them a vendor caches as they are. */
  frozen = 0
  /** Whether a client marked any prefix for a vendor's cache. */
  marked = false
  /** Commands and names of tools by the id of their call. */
  private readonly commands = new Map<unknown, string>()
  private readonly tools = new Map<unknown, string>()
  private readonly calls = new Map<unknown, Called | null>()
  /** Ids of calls without a result. */
  private readonly unanswered = new Set<unknown>()
  /** Answers of the model that have begun. */
  private turn = 0
  private answers = false

  /** Who speaks now. */
  speaks(role: Role): void {
    const answers = role === "assistant"
    if (answers && !this.answers) this.turn++
    this.answers = answers
  }

  add(role: Role, path: Path, text: unknown, { called, command, failed, tool }: Source = none): void {
    if (typeof text === "string" && text !== "") this.found.push({ role, path, text, command, tool, turn: this.turn, frozen: false, called, failed })
  }

  /** Everything up to here is a prefix that is cached. */
  mark(value: Body): void {
    if (value["cache_control"] === undefined || value["cache_control"] === null) return
    this.marked = true
    this.frozen = this.found.length
  }

  call(id: unknown, tool: unknown, input: unknown): void {
    if (typeof tool !== "string") return
    this.tools.set(id, tool)
    // Of two calls that share an id, it is not sure which one is answered.
    this.calls.set(id, this.unanswered.has(id) ? null : { input })
    this.unanswered.add(id)
    // A local server's calls have no ids of their own: the newest one is meant.
    this.commands.delete(id)
    const command = commandOf(tool, input)
    if (command !== null) this.commands.set(id, command)
  }

  run(id: unknown, command: string | null): void {
    if (command !== null) this.commands.set(id, command)
  }

  sourceOf(id: unknown): Source {
    this.unanswered.delete(id)
    return { called: this.calls.get(id) ?? null, command: this.commands.get(id) ?? null, failed: false, tool: this.tools.get(id) ?? null }
  }

  /** A text, or a list of parts with texts. */
  content(role: Role, path: Path, content: unknown, source: Source = none): void {
    if (typeof content === "string") this.add(role, path, content, source)
    else if (Array.isArray(content)) content.forEach((part: unknown, i) => this.part(role, [...path, i], part, source))
  }

  private part(role: Role, path: Path, part: unknown, source: Source): void {
    if (typeof part === "string") return this.add(role, path, part, source)
    if (!Json.isRecord(part)) return
    const type = part["type"]
    if (type === "tool_use") this.call(part["id"], part["name"], part["input"])
    else if (type === "tool_result") {
      const source = this.sourceOf(part["tool_use_id"])
      this.content("tool", [...path, "content"], part["content"], part["is_error"] === true ? failure : source)
    } else if (textTypes.has(type as string)) this.add(role, [...path, "text"], part["text"], source)
    this.mark(part)
  }
}

const inMessages = (into: Collector, messages: unknown): void => {
  if (!Array.isArray(messages)) return
  messages.forEach((message: unknown, i) => {
    if (!Json.isRecord(message)) return
    const { content, role, tool_calls: calls } = message
    const said = roles.get(role)
    // A local server's results name no call: the newest call is meant.
    const id = message["tool_call_id"] ?? newest
    if (said !== undefined) {
      into.speaks(said)
      into.content(said, ["messages", i, "content"], content, said === "tool" ? into.sourceOf(id) : none)
    }
    if (Array.isArray(calls)) {
      for (const call of calls as ReadonlyArray<unknown>) {
        const called = Json.isRecord(call) ? call["function"] : null
        if (!Json.isRecord(call) || !Json.isRecord(called)) continue
        into.call(call["id"] ?? newest, called["name"], called["arguments"])
      }
    }
    into.mark(message)
  })
}

/** Id of a call without one. */
const newest = Symbol("newest")

const inInput = (into: Collector, input: unknown): void => {
  if (typeof input === "string") return into.add("user", ["input"], input)
  if (!Array.isArray(input)) return
  input.forEach((item: unknown, i) => {
    if (!Json.isRecord(item)) return
    switch (item["type"] ?? "message") {
      case "message": {
        const role = roles.get(item["role"])
        if (role === undefined) return
        into.speaks(role)
        return into.content(role, ["input", i, "content"], item["content"])
      }
      case "function_call":
        into.speaks("assistant")
        return into.call(item["call_id"], item["name"], item["arguments"])
      case "local_shell_call":
        into.speaks("assistant")
        return into.run(item["call_id"] ?? item["id"], Json.isRecord(item["action"]) ? lineOf(item["action"]["command"]) : null)
      case "function_call_output":
      case "local_shell_call_output":
        into.speaks("tool")
        return into.content("tool", ["input", i, "output"], item["output"], into.sourceOf(item["call_id"] ?? item["id"]))
    }
  })
}

/** Members of a function's response that hold what a command printed. */
const outputs = ["output", "result", "stdout", "content"]

const inContents = (into: Collector, contents: unknown): void => {
  if (!Array.isArray(contents)) return
  contents.forEach((content: unknown, i) => {
    if (!Json.isRecord(content) || !Array.isArray(content["parts"])) return
    const role = roles.get(content["role"] ?? "user")
    if (role === undefined) return
    into.speaks(role)
    content["parts"].forEach((part: unknown, j) => {
      if (!Json.isRecord(part)) return
      const path = ["contents", i, "parts", j]
      const call = part["functionCall"] ?? part["function_call"]
      const name = part["functionResponse"] !== undefined ? "functionResponse" : "function_response"
      const response = part[name]
      if (Json.isRecord(call)) into.call(call["id"] ?? call["name"], call["name"], call["args"])
      else if (Json.isRecord(response) && Json.isRecord(response["response"])) {
        for (const output of outputs) {
          into.add("tool", [...path, name, "response", output], response["response"][output], into.sourceOf(response["id"] ?? response["name"]))
        }
      } else if (part["thought"] !== true && part["thoughtSignature"] === undefined && part["thought_signature"] === undefined) into.add(role, [...path, "text"], part["text"])
    })
  })
}

const inInstruction = (into: Collector, body: Body, name: string): void => {
  const instruction = body[name]
  if (typeof instruction === "string") into.add("system", [name], instruction)
  else if (Json.isRecord(instruction) && Array.isArray(instruction["parts"])) {
    instruction["parts"].forEach((part: unknown, i) => {
      if (Json.isRecord(part)) into.add("system", [name, "parts", i, "text"], part["text"])
    })
  }
}

export interface Pieces {
  readonly pieces: ReadonlyArray<Found>
  /** The client marked a prefix for a vendor's cache: instructions stay, too. */
  readonly marked: boolean
}

/** A bare prompt is continued from its last character, so a completion has no texts. */
export const of = (format: FormatName, body: Body): Pieces => {
  const into = new Collector()
  switch (format) {
    case "chat-completions":
      inMessages(into, body["messages"])
      break
    case "local-model-server":
      into.content("system", ["system"], body["system"])
      if (body["raw"] !== true) into.add("user", ["prompt"], body["prompt"])
      inMessages(into, body["messages"])
      break
    case "messages":
      into.content("system", ["system"], body["system"])
      inMessages(into, body["messages"])
      into.mark(body)
      break
    case "responses":
      into.add("system", ["instructions"], body["instructions"])
      inInput(into, body["input"])
      break
    case "generateContent":
      inInstruction(into, body, "systemInstruction")
      inInstruction(into, body, "system_instruction")
      inContents(into, body["contents"])
      break
    case "completions":
      break
  }
  const { found, frozen, marked } = into
  return { pieces: found.map((piece, i) => i < frozen || (marked && piece.role === "system") ? { ...piece, frozen: true } : piece), marked }
}
