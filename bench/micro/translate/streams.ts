/** Streams as each family's vendor sends them: the vendor's key order, ids, padding and line ends, one frame per token. */
import type { FamilyName } from "#schemas/wire/conversation.ts"

/** What the events say: text, thoughts, a call's arguments, or text of which no word is ASCII. */
export type Kind = "text" | "reasoning" | "arguments" | "unicode"

export const kinds: ReadonlyArray<Kind> = ["text", "reasoning", "arguments", "unicode"]

export interface Stream {
  /** Everything before the content: heads, the start of a block. */
  readonly head: string
  /** One content event each. */
  readonly events: ReadonlyArray<string>
  /** Everything behind the content, the format's final event included. */
  readonly tail: string
}

const words = [
  "The", " answer", " is", " not", " as", " simple", " as", " it", " looks", ",", " because", " `", "usage", "`", " and", " \"error\"", " are", " words", " too", ".\n\n",
  "1", ".", " **", "First", "**", ",", " open", " the", " file", " \\", " then", " read", " it", " line", " by", " line", ".\n", "caf\u00e9", " \u2013", " done"
]
const foreign = ["\u4f60\u597d", "\uff0c", "\u4e16\u754c", "\u3002", "\u3053\u3093\u306b\u3061\u306f", " \u041f\u0440\u0438\u0432\u0435\u0442", " \ud83d\ude80", "\u00fcber"]
const pieces = ["{\"", "query", "\":", " \"", "open", " the", " file", "\\n", "and", " read", " it", "\",", " \"", "limit", "\":", " 10", "}"]
const hex = "0123456789abcdefABCDEFGHIJKLMNOPQRSTUVWXYZ"

const quoted = (text: string): string => JSON.stringify(text)
const at = (list: ReadonlyArray<string>, i: number): string => list[i % list.length] ?? ""
const padding = (i: number): string => hex.slice(0, 3 + (i * 7) % 13)

/** The token that event `i` of `count` carries; arguments join to one JSON object. */
const token = (kind: Kind, i: number, count: number): string => {
  if (kind === "unicode") return at(foreign, i)
  if (kind !== "arguments") return at(words, i)
  return i === 0 ? '{"code": "' : i === count - 1 ? '"}' : at(pieces, i).replaceAll("\\n", "\\\\n").replaceAll('"', '\\"')
}

const chat = (kind: Kind, count: number): Stream => {
  const head = 'data: {"id":"chatcmpl-CQm4a8Zk3vXn1rT5wYb7Lc2dEf9Gh","object":"chat.completion.chunk","created":1760000000,"model":"gpt-5-mini-2025-08-07",' +
    '"service_tier":"default","system_fingerprint":"fp_560af6e559","choices":['
  const frame = (delta: string, i: number): string =>
    `${head}{"index":0,"delta":${delta},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"${padding(i)}"}\n\n`
  const delta = (text: string): string =>
    kind === "arguments" ? `{"tool_calls":[{"index":0,"function":{"arguments":${quoted(text)}}}]}` : `{"${kind === "reasoning" ? "reasoning_content" : "content"}":${quoted(text)}}`
  const begin = kind === "arguments"
    ? '{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_Vn1rT5wYb7Lc2dEf","type":"function","function":{"name":"search","arguments":""}}],"refusal":null}'
    : '{"role":"assistant","content":"","refusal":null}'
  return {
    head: frame(begin, 0),
    events: Array.from({ length: count }, (_, i) => frame(delta(token(kind, i, count)), i)),
    tail: `${head}{"index":0,"delta":{},"logprobs":null,"finish_reason":"${kind === "arguments" ? "tool_calls" : "stop"}"}],"usage":null}\n\n` +
      `${head}],"usage":{"prompt_tokens":12,"completion_tokens":${count},"total_tokens":${count + 12}}}\n\ndata: [DONE]\n\n`
  }
}

const messages = (kind: Kind, count: number): Stream => {
  const event = (type: string, members: string): string => `event: ${type}\ndata: {"type":"${type}",${members}}\n\n`
  const block = kind === "arguments" ? '{"type":"tool_use","id":"toolu_01CQm4a8Zk3vXn1rT5wYb7","name":"search","input":{}}'
    : kind === "reasoning" ? '{"type":"thinking","thinking":"","signature":""}' : '{"type":"text","text":""}'
  const delta = kind === "arguments" ? '"input_json_delta","partial_json"' : kind === "reasoning" ? '"thinking_delta","thinking"' : '"text_delta","text"'
  return {
    head: event("message_start", '"message":{"model":"claude-sonnet-4-5-20250929","id":"msg_01CQm4a8Zk3vXn1rT5wYb7Lc","type":"message","role":"assistant","content":[],' +
      '"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}') +
      event("content_block_start", `"index":0,"content_block":${block}`) + 'event: ping\ndata: {"type": "ping"}\n\n',
    // The vendor pads with spaces before the end of the line.
    events: Array.from({ length: count }, (_, i) =>
      `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":${delta}:${quoted(token(kind, i, count))}}${" ".repeat((i * 5) % 11)}}\n\n`),
    tail: event("content_block_stop", '"index":0') +
      event("message_delta", `"delta":{"stop_reason":"${kind === "arguments" ? "tool_use" : "end_turn"}","stop_sequence":null},"usage":{"output_tokens":${count}}`) +
      'event: message_stop\ndata: {"type":"message_stop"}\n\n'
  }
}

const responses = (kind: Kind, count: number): Stream => {
  let sequence = 0
  const event = (type: string, members: string): string => `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence++},${members}}\n\n`
  const response = (status: string, rest: string): string =>
    `"response":{"id":"resp_68a1cqm4a8zk3vxn1rt5wyb7","object":"response","created_at":1760000000,"status":"${status}","model":"gpt-5-mini-2025-08-07",${rest}}`
  const id = kind === "arguments" ? "fc_68a1cqm4a8zk3vxn1rt5wyb7lc2def" : kind === "reasoning" ? "rs_68a1cqm4a8zk3vxn1rt5wyb7lc2def" : "msg_68a1cqm4a8zk3vxn1rt5wyb7lc2def"
  const item = (status: string, text: string): string =>
    kind === "arguments"
      ? `{"id":"${id}","type":"function_call","status":"${status}","arguments":${quoted(text)},"call_id":"call_Vn1rT5wYb7Lc2dEf","name":"search"}`
      : kind === "reasoning"
      ? `{"id":"${id}","type":"reasoning","summary":[${text === "" ? "" : `{"type":"summary_text","text":${quoted(text)}}`}]}`
      : `{"id":"${id}","type":"message","status":"${status}","content":[${text === "" ? "" : `{"type":"output_text","annotations":[],"logprobs":[],"text":${quoted(text)}}`}],"role":"assistant"}`
  const type = kind === "arguments" ? "response.function_call_arguments" : kind === "reasoning" ? "response.reasoning_summary_text" : "response.output_text"
  const place = `"item_id":"${id}","output_index":0${kind === "arguments" ? "" : kind === "reasoning" ? ',"summary_index":0' : ',"content_index":0'}`
  const texts = Array.from({ length: count }, (_, i) => token(kind, i, count))
  const whole = texts.join("")
  const head = event("response.created", response("in_progress", '"output":[]')) + event("response.in_progress", response("in_progress", '"output":[]')) +
    event("response.output_item.added", `"output_index":0,"item":${item("in_progress", "")}`)
  const events = texts.map((text, i) =>
    event(`${type}.delta`, `${place},"delta":${quoted(text)}${kind === "text" || kind === "unicode" ? ',"logprobs":[]' : ""},"obfuscation":"${padding(i)}"`))
  const tail = event(`${type}.done`, `${place},"${kind === "arguments" ? "arguments" : "text"}":${quoted(whole)}`) +
    event("response.output_item.done", `"output_index":0,"item":${item("completed", whole)}`) +
    event("response.completed", response("completed", `"output":[${item("completed", whole)}],"usage":{"input_tokens":12,"input_tokens_details":{"cached_tokens":0},` +
      `"output_tokens":${count},"output_tokens_details":{"reasoning_tokens":0},"total_tokens":${count + 12}}`))
  return { head, events, tail }
}

/** Calls come whole in this format: its frames of the kind `arguments` each hold one call. */
const generateContent = (kind: Kind, count: number): Stream => {
  const frame = (part: string, i: number, finish: string): string =>
    `data: {"candidates": [{"content": {"parts": [${part}],"role": "model"}${finish},"index": 0}],"usageMetadata": {"promptTokenCount": 12,"candidatesTokenCount": ${i + 1},` +
    `"totalTokenCount": ${i + 13},"promptTokensDetails": [{"modality": "TEXT","tokenCount": 12}]},"modelVersion": "gemini-3-flash-preview","responseId": "c7VYaL6kEsKz7dcPq9KMwAE"}\r\n\r\n`
  const part = (i: number): string =>
    kind === "arguments" ? `{"functionCall": {"name": "search","args": {"query": "open the file ${i}","limit": 10}}}`
      : `{"text": ${quoted(token(kind, i, count))}${kind === "reasoning" ? ',"thought": true' : ""}}`
  return {
    head: "",
    events: Array.from({ length: count }, (_, i) => frame(part(i), i, "")),
    tail: frame('{"text": ""}', count, ',"finishReason": "STOP"')
  }
}

/** Calls come whole here too. */
const localModelServer = (kind: Kind, count: number): Stream => {
  const line = (message: string, i: number, rest: string): string =>
    `{"model":"llama3.2","created_at":"2026-10-17T23:14:07.${String(414_671_101 + i * 1_021).padStart(9, "0").slice(-9)}Z","message":{"role":"assistant",${message}},${rest}}\n`
  const message = (i: number): string =>
    kind === "arguments" ? `"content":"","tool_calls":[{"id":"call_${i}","function":{"index":${i},"name":"search","arguments":{"query":"open the file ${i}","limit":10}}}]`
      : kind === "reasoning" ? `"content":"","thinking":${quoted(token(kind, i, count))}` : `"content":${quoted(token(kind, i, count))}`
  return {
    head: "",
    events: Array.from({ length: count }, (_, i) => line(message(i), i, '"done":false')),
    tail: line('"content":""', count, `"done":true,"done_reason":"stop","total_duration":4883583458,"load_duration":1334875,"prompt_eval_count":12,"prompt_eval_duration":342546000,` +
      `"eval_count":${count},"eval_duration":4535599000`)
  }
}

const makers: Readonly<Record<FamilyName, (kind: Kind, count: number) => Stream>> = {
  "chat-completions": chat, "messages": messages, "responses": responses, "generateContent": generateContent, "local-model-server": localModelServer
}

export const families = Object.keys(makers) as ReadonlyArray<FamilyName>

/** Families whose calls come whole: a parsed object per call, not a piece of text. */
export const wholeCalls: ReadonlySet<FamilyName> = new Set<FamilyName>(["generateContent", "local-model-server"])

export const streamOf = (family: FamilyName, kind: Kind, count: number): Stream => makers[family](kind, count)

/** The stream as chunks: head and tail of their own, `perChunk` events in each chunk between them. */
export const chunksOf = (stream: Stream, perChunk: number): ReadonlyArray<Buffer> => {
  const chunks = stream.head === "" ? [] : [Buffer.from(stream.head)]
  for (let i = 0; i < stream.events.length; i += perChunk) chunks.push(Buffer.from(stream.events.slice(i, i + perChunk).join("")))
  chunks.push(Buffer.from(stream.tail))
  return chunks
}
