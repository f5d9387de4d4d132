/**
 * Response objects as the public schema (openresponses.org) has them, where a server of this format leaves members out: what every object
 * has is added, and what is there stays byte for byte. A response that the gateway continued itself is named, too: its server never
 * heard of it.
 */
import * as Json from "#src/wire/json/json.ts"
import * as Members from "#src/wire/json/members.ts"
import * as Splice from "#src/wire/json/splice.ts"
import type { Known } from "#src/wire/WireFormat.ts"
import { dataOf } from "#src/wire/stream/SseScanner.ts"
import { commonInStream, type ClientError } from "#src/wire/errorObject.ts"
import type { TokenUsage } from "#schemas/wire/conversation.ts"
import { repeated, toolsOf, usageJson } from "./responseObject.ts"

type Fields = Readonly<Record<string, unknown>>

/** Of the answer itself, with what stands there while nothing is known. */
const standing = { object: "response", completed_at: null, incomplete_details: null, error: null, output: [], usage: null, background: false } as const

/** Members that may be null. */
const nullable: ReadonlySet<string> = new Set([
  "completed_at", "incomplete_details", "error", "usage", "previous_response_id", "instructions", "reasoning", "user", "max_output_tokens", "max_tool_calls",
  "safety_identifier", "prompt_cache_key"
])

const names: ReadonlyArray<string> = [...Object.keys(standing), "created_at", ...Object.keys(repeated({}, "", null))]
const needed = names.filter((name) => !nullable.has(name))
const mayBeNull = names.filter((name) => nullable.has(name))

/** What a request names and its response must, too. */
const named = ["previous_response_id", "conversation"] as const

const lacks = (response: Fields, { request }: Known): boolean => {
  for (let i = 0; i < needed.length; i++) if (response[needed[i] as string] === undefined || response[needed[i] as string] === null) return true
  for (let i = 0; i < mayBeNull.length; i++) if (response[mayBeNull[i] as string] === undefined) return true
  if (namesTooLittle(response, request) || (response["completed_at"] === null && response["status"] === "completed")) return true
  return lacksInUsage(response["usage"]) || (Array.isArray(response["tools"]) && response["tools"].some(lacksInTool))
}

const namesTooLittle = (response: Fields, request: Fields): boolean => {
  for (let i = 0; i < named.length; i++) if (isAbsent(response[named[i] as string]) && !isAbsent(request[named[i] as string])) return true
  return false
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null

const lacksInTool = (tool: unknown): boolean =>
  Json.isRecord(tool) && tool["type"] === "function" && (tool["strict"] === undefined || tool["parameters"] === undefined || tool["description"] === undefined)

const details = { input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } } as const

const lacksInUsage = (usage: unknown): boolean =>
  Json.isRecord(usage) && (!Json.isRecord(usage["input_tokens_details"]) || !Json.isRecord(usage["output_tokens_details"]))

/** `status`: of an object that does not say its own. */
const editsOf = (response: Fields, known: Known, status: string): ReadonlyArray<Splice.Edit> => {
  const edits = new Map<string, unknown>()
  const now = known.now()
  const all: Fields = { ...standing, created_at: now, status, ...repeated(known.request, known.model, null) }
  for (const [name, value] of Object.entries(all)) {
    const own = response[name]
    if (own === undefined || (own === null && !nullable.has(name))) edits.set(name, value)
  }
  for (const name of named) if (isAbsent(response[name]) && !isAbsent(all[name])) edits.set(name, all[name])
  const stands = response["status"] ?? status
  if (isAbsent(response["completed_at"]) && stands === "completed") edits.set("completed_at", now)
  const { tools, usage } = response
  if (Array.isArray(tools) && tools.some(lacksInTool)) edits.set("tools", toolsOf(tools))
  if (Json.isRecord(usage) && lacksInUsage(usage)) edits.set("usage", { ...details, ...Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null)) })
  return [...edits].map(([key, value]) => ({ key, value: JSON.stringify(value) }))
}

/** The same object with what it lacks; `parsed` is what `response` says. Null when it lacks nothing. */
export const whole = (response: Buffer, parsed: Fields, known: Known, status = "completed"): Buffer | null => {
  if (parsed["status"] !== undefined && !lacks(parsed, known)) return null
  const edits = editsOf(parsed, known, status)
  return Splice.edit(response, parsed, edits) ?? Buffer.from(JSON.stringify({ ...parsed, ...Object.fromEntries(edits.map(({ key, value }) => [key, JSON.parse(value) as unknown])) }))
}

/** Of a response that failed, these are the gateway's. */
const replaced: ReadonlySet<string> = new Set(["object", "error", "incomplete_details", "completed_at"])
const repeatedNames: ReadonlyArray<string> = [...names.filter((name) => !replaced.has(name)), "conversation"]

/**
 * The response of a stream that broke, as JSON text. `said`: its members as its server named them; `usage`: what was counted, where
 * they name none. Only public members are repeated, and the error is the client's.
 */
export const failed = (id: string, said: Fields, error: ClientError, usage: TokenUsage | null, known: Known | null): string => {
  const own = Object.fromEntries(repeatedNames.flatMap((name) => said[name] === undefined ? [] : [[name, said[name]]]))
  const output = Array.isArray(own["output"]) ? own["output"] : []
  const response: Fields = {
    id, object: "response", ...own, status: "failed", error: commonInStream(error), incomplete_details: null, output,
    ...(said["completed_at"] === undefined ? {} : { completed_at: null }), usage: own["usage"] ?? (usage === null ? null : usageJson(usage))
  }
  if (known === null) return JSON.stringify(response)
  return JSON.stringify({ ...response, ...Object.fromEntries(editsOf(response, known, "failed").map(({ key, value }) => [key, JSON.parse(value) as unknown])) })
}

/** The status that the last word of an event's type says: of `response.created` it is in_progress. */
const statusOf = (type: string): string => {
  const word = type.slice("response.".length)
  return word === "created" ? "in_progress" : word === "done" ? "completed" : word
}

/** An event of a stream with its response whole; `parsed` is what its response says, long texts in it shortened or not. Null when it lacks nothing. */
export const wholeEvent = (event: Buffer, type: string, parsed: Fields, known: Known): Buffer | null => {
  if (parsed["status"] !== undefined && !lacks(parsed, known)) return null
  const text = dataOf(event, 0, event.length)
  const members = text === null ? null : Members.of(Buffer.from(text))
  const response = members?.get("response")
  const said = response === undefined ? null : Json.parseRecord(response.toString("utf8"))
  if (members === null || response === undefined || said === null) return null
  const made = whole(response, said, known, statusOf(type))
  if (made === null) return null
  const data = Members.write([...members].map(([name, value]) => [name, name === "response" ? made : value]))
  return Buffer.concat([Buffer.from(`event: ${type}\ndata: `), data, Buffer.from("\n\n")])
}
