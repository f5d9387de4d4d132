/** Whole answers, usage and errors of local model servers. */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { Answer, FinishReason, ContentPart, TokenLogprob, TokenUsage, ToolCallPart } from "#schemas/wire/conversation.ts"
import { ThinkSplitter, type ThinkSink } from "#src/wire/chatCompletions/stream/ThinkSplitter.ts"
import { callId, objectText } from "#src/wire/localModelServer/request/arguments.ts"
import { dataOf, imageOf } from "#src/wire/localModelServer/request/images.ts"
import * as Json from "#src/wire/json/json.ts"
import type { EncoderOptions } from "#src/wire/stream/StreamSink.ts"
import type { Json as Body, UpstreamCodec } from "#src/wire/WireFormat.ts"

// ---- reading -------------------------------------------------------------------------------------------------------------------------

/** Error of a body or line: `{error:"text"}` (the server's own), or the common object form of proxies before it. */
export const errorOf = (body: Body): UpstreamErrorBody | null => {
  const error = body["error"]
  const text = (record: Body, key: string): string | null => typeof record[key] === "string" ? record[key] : null
  const number = (record: Body, key: string): number | null => typeof record[key] === "number" ? record[key] : null
  if (typeof error === "string") return error === "" ? null : { message: error, type: text(body, "type"), code: text(body, "code"), status: number(body, "status") }
  if (!Json.isRecord(error)) return null
  return {
    message: text(error, "message") ?? "The upstream reported an error without a message.",
    type: text(error, "type"), code: text(error, "code"), status: number(error, "code") ?? number(error, "status")
  }
}

/** Counts of a last line; null when it has none. The server leaves a count of 0 out. */
export const usageOf = (body: Body): TokenUsage | null =>
  !Json.hasCount(body, "eval_count", "prompt_eval_count")
    ? null
    : { input: Json.countAt(body, "prompt_eval_count"), output: Json.countAt(body, "eval_count"), cacheRead: 0, cacheCreation: 0, reasoning: 0 }

/** Why it ended: the server says `stop` for tool calls too. */
export const finishOf = (reason: unknown, hasCalls: boolean): FinishReason => {
  switch (reason) {
    case "length": return "length"
    case "content_filter": return "content-filter"
    case "tool_calls": return "tool-calls"
    default: return hasCalls ? "tool-calls" : "stop"
  }
}

/** Seconds since the epoch of `created_at`; null when it is no date. */
export const createdAtOf = (body: Body): number | null => {
  const created = body["created_at"]
  const millis = typeof created === "string" ? Date.parse(created) : Number.NaN
  return Number.isNaN(millis) ? null : Math.floor(millis / 1000)
}

/** The calls of a message; `from`: how many came before them. */
export const callsOf = (body: Body, message: Body, from: number): ReadonlyArray<ToolCallPart> => {
  const calls = message["tool_calls"]
  if (!Array.isArray(calls)) return []
  const created = body["created_at"]
  const when = typeof created === "string" ? created : ""
  return calls.flatMap((call: unknown): ReadonlyArray<ToolCallPart> => {
    const fn = Json.isRecord(call) ? Json.recordAt(call, "function") : null
    if (!Json.isRecord(call) || fn === null || typeof fn["name"] !== "string") return []
    const given = fn["arguments"]
    const args = typeof given === "string" ? given : JSON.stringify(given ?? {})
    return [{ kind: "toolCall", id: typeof call["id"] === "string" ? call["id"] : "", name: fn["name"], arguments: args, custom: false, cache: null, signature: null }]
  }).map((part, i) => part.id === "" ? { ...part, id: callId(when, from + i, part.name, part.arguments) } : part)
}

/** Token log probabilities of a body or line, which has them beside the message. */
export const logprobsOf = (body: Body): ReadonlyArray<TokenLogprob> | null => {
  const entries = body["logprobs"]
  if (!Array.isArray(entries)) return null
  return entries.filter(Json.isRecord).map((entry) => ({ ...tokenOf(entry), top: Array.isArray(entry["top_logprobs"]) ? entry["top_logprobs"].filter(Json.isRecord).map(tokenOf) : [] }))
}

const tokenOf = (entry: Body): Omit<TokenLogprob, "top"> => ({
  token: typeof entry["token"] === "string" ? entry["token"] : "",
  logprob: typeof entry["logprob"] === "number" ? entry["logprob"] : 0,
  bytes: Array.isArray(entry["bytes"]) ? entry["bytes"].filter((byte) => typeof byte === "number") : null
})

/** Images that a message of the model holds. */
export const imagesOf = (message: Body) =>
  Array.isArray(message["images"]) ? message["images"].flatMap((image: unknown) => (typeof image === "string" ? imageOf(image) : null) ?? []) : []

export const decodeAnswer: UpstreamCodec["decodeAnswer"] = (body) => {
  const error = errorOf(body)
  if (error !== null) return error
  const message = Json.recordAt(body, "message")
  if (message === null) return null
  const { content, thinking } = message
  const parts: Array<ContentPart> = []
  if (typeof thinking === "string" && thinking !== "") {
    parts.push({ kind: "reasoning", text: thinking, summary: false, signature: null, id: null, redacted: false })
  }
  if (typeof content === "string" && content !== "") parts.push(...contentOf(content, parts.length > 0))
  const calls = callsOf(body, message, 0)
  for (const part of [...imagesOf(message), ...calls]) parts.push(part)
  return {
    id: null,
    model: typeof body["model"] === "string" ? body["model"] : null,
    createdAt: createdAtOf(body),
    choices: [{ index: 0, parts, finish: finishOf(body["done_reason"], calls.length > 0), stopSequence: null, logprobs: logprobsOf(body) }],
    usage: usageOf(body),
    serviceTier: null,
    systemFingerprint: null
  }
}

/** The content's text, with the thoughts of `<think>` apart unless the message has thoughts of its own. */
const contentOf = (content: string, hasThoughts: boolean): ReadonlyArray<ContentPart> => {
  let [thinking, said] = ["", ""]
  const splitter = new ThinkSplitter()
  const sink: ThinkSink = { text: (text) => void (said += text), thinking: (text) => void (thinking += text) }
  if (hasThoughts) splitter.switchOff()
  splitter.feed(content, sink)
  splitter.flush(sink)
  const thoughts: ContentPart = { kind: "reasoning", text: thinking, summary: false, signature: null, id: null, redacted: false }
  const text: ContentPart = { kind: "text", text: said, cache: null, annotations: [], signature: null }
  return [...(thinking === "" ? [] : [thoughts]), ...(said === "" ? [] : [text])]
}

/** Facts of a whole answer that is forwarded as it came; null when it is none. */
export const readAnswer: UpstreamCodec["readAnswer"] = (body) => {
  const error = errorOf(body)
  const message = Json.recordAt(body, "message")
  if (error === null && message === null) return null
  return { usage: usageOf(body), error, outputText: () => message === null ? "" : textOf(message) }
}

const textOf = (message: Body): string => {
  const of = (key: string): string => typeof message[key] === "string" ? message[key] : ""
  return of("thinking") + of("content") + (Array.isArray(message["tool_calls"]) ? JSON.stringify(message["tool_calls"]) : "")
}

// ---- writing -------------------------------------------------------------------------------------------------------------------------

export const timestamp = (seconds: number): string => {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? new Date(0).toISOString() : date.toISOString()
}

/** The word of `done_reason`; the vendor has `stop` and `length`, and nothing for a withheld answer. */
const doneReason = (finish: FinishReason | null): string => {
  switch (finish) {
    case "length":
    case "context": return "length"
    case "content-filter":
    case "refusal": return "content_filter"
    default: return "stop"
  }
}

/** JSON members of a last line; `nanos`: how long the answer took as far as the gateway saw it, 0 when it did not. */
export const ending = (finish: FinishReason | null, usage: TokenUsage | null, nanos: number): string => {
  const counts = (key: string, count: number | undefined): string => count === undefined ? "" : `"${key}":${count},`
  return `"done":true,"done_reason":"${doneReason(finish)}","total_duration":${nanos},"load_duration":0,` +
    `${counts("prompt_eval_count", usage?.input)}"prompt_eval_duration":0,${counts("eval_count", usage?.output)}"eval_duration":${nanos}`
}

/** JSON text of one call of `message.tool_calls`. */
export const callText = (index: number, id: string, name: string, args: string, custom: boolean): string =>
  `{"id":${JSON.stringify(id)},"function":{"index":${index},"name":${JSON.stringify(name)},"arguments":` +
  `${custom ? JSON.stringify({ input: args }) : objectText(args)}}}`

/** The vendor's shape of log probabilities. */
export const logprobsText = (entries: ReadonlyArray<TokenLogprob>): string => {
  const token = (entry: Omit<TokenLogprob, "top">) => ({ token: entry.token, logprob: entry.logprob, ...(entry.bytes === null ? {} : { bytes: entry.bytes }) })
  return JSON.stringify(entries.map((entry) => ({ ...token(entry), ...(entry.top.length === 0 ? {} : { top_logprobs: entry.top.map(token) }) })))
}

export const encodeAnswer = (answer: Answer, options: EncoderOptions): string => {
  const choice = answer.choices[0]
  let thinking = ""
  let content = ""
  const images: Array<string> = []
  const calls: Array<string> = []
  for (const part of choice?.parts ?? []) {
    if (part.kind === "reasoning") thinking += part.text
    else if (part.kind === "text" || part.kind === "refusal") content += part.text
    else if (part.kind === "toolCall") calls.push(callText(calls.length, part.id, part.name, part.arguments, part.custom))
    else if (part.kind === "image") images.push(...[dataOf(part)].filter((data) => data !== null))
  }
  let message = `{"role":"assistant","content":${JSON.stringify(content)}`
  if (thinking !== "") message += `,"thinking":${JSON.stringify(thinking)}`
  if (images.length > 0) message += `,"images":${JSON.stringify(images)}`
  if (calls.length > 0) message += `,"tool_calls":[${calls.join(",")}]`
  const logprobs = choice === undefined || choice.logprobs === null ? "" : `,"logprobs":${logprobsText(choice.logprobs)}`
  return `{"model":${JSON.stringify(answer.model ?? options.model)},"created_at":"${timestamp(answer.createdAt ?? options.now())}",` +
    `"message":${message}},${ending(choice?.finish ?? null, answer.usage, 0)}${logprobs}}`
}
