/** `input` of a request as turns: items of the assistant in a row are one turn, results stand behind their calls. */
import type { Annotation, CacheControl, MediaPart, OpaquePart, ContentPart, ReasoningPart, RefusalPart, Signature, TextPart, ToolCallPart, ToolResultPart, Turn } from "#schemas/wire/conversation.ts"
import type * as WireResponses from "#schemas/wire/responses.ts"
import * as Base64 from "#src/wire/json/base64.ts"
import { annotationOf } from "#src/wire/responses/annotations.ts"
import { hostedText, isHosted, isSealedHistory } from "#src/wire/neutral/hostedText.ts"
import type { FlatName } from "./namespaces.ts"
import { callCarrier, opened, textCarrier } from "#src/wire/responses/reasoning.ts"
import { invalid } from "#src/wire/neutral/settings.ts"

type Of<Union, Type extends string> = Extract<Union, { readonly type: Type }>
/** Narrows past the catch-all of a union, whose `type` may be any string to the compiler. */
const isItem = <T extends string>(item: WireResponses.Item, type: T): item is Of<WireResponses.Item, T> => item["type"] === type
const isPart = <T extends string>(part: WireResponses.Part, type: T): part is Of<WireResponses.Part, T> => part["type"] === type

interface OpenTurn extends Turn {
  readonly parts: Array<ContentPart>
}

/** A field of an item that no other format has. */
export type Note = (field: string, value: unknown) => void

export const turnsOf = (input: string | ReadonlyArray<WireResponses.Item>, flat: FlatName, note: Note): ReadonlyArray<Turn> => {
  if (typeof input === "string") return [{ role: "user", parts: [text(input)], name: null, path: "input" }]
  const reader = new InputReader(flat, note)
  input.forEach((item, i) => reader.item(item, `input[${i}]`))
  return reader.turns
}

class InputReader {
  private readonly said: Array<OpenTurn> = []
  /** Results behind the turn that called: the vendor lets them stand anywhere later. */
  private readonly behind = new Map<OpenTurn, OpenTurn>()
  private readonly flat: FlatName
  private readonly note: Note
  /** The turn in which each call stands. */
  private readonly callers = new Map<string, OpenTurn>()
  /** Signature that the next call is owed. */
  private owed: Signature | null = null

  constructor(flat: FlatName, note: Note) {
    this.flat = flat
    this.note = note
  }

  get turns(): ReadonlyArray<Turn> {
    return this.said.flatMap((turn) => {
      const results = this.behind.get(turn)
      return results === undefined ? [turn] : [turn, results]
    })
  }

  item(item: WireResponses.Item, path: string): void {
    if (isItem(item, "message")) return this.message(item, path)
    if (isItem(item, "function_call")) return this.call(item.call_id, item.name, item.namespace, item.arguments, false, path)
    if (isItem(item, "custom_tool_call")) return this.call(item.call_id, item.name, item.namespace, item.input, true, path)
    if (isItem(item, "reasoning")) return this.reasoning(item, path)
    if (isItem(item, "function_call_output") || isItem(item, "custom_tool_call_output")) {
      return this.result({
        kind: "toolResult", id: item.call_id, name: item.name ?? null, isError: false, cache: null, content: resultContent(item.output, `${path}.output`)
      }, path)
    }
    const part = opaqueItem(item, path)
    // What the client's side of a vendor's tool answered is no word of the model's.
    if (clientItem.test(part.listed)) this.said.push({ role: "user", parts: [part], name: null, path })
    else this.assistant(path).push(part)
  }

  private message(item: Of<WireResponses.Item, "message">, path: string): void {
    const parts: Array<ContentPart> = typeof item.content === "string"
      ? [text(item.content)]
      : item.content.map((part, i) => partOf(part, `${path}.content[${i}]`, item.role))
    if (item.phase !== undefined && item.phase !== null) this.note(`${path}.phase`, item.phase)
    const last = this.last()
    if (item.role !== "assistant" || last?.role !== "assistant") this.said.push({ role: item.role, parts, name: null, path })
    else for (const part of parts) last.parts.push(part)
  }

  private call(id: string, name: string, namespace: string | null | undefined, args: string, custom: boolean, path: string): void {
    const parts = this.assistant(path)
    parts.push({
      kind: "toolCall", id, name: namespace === undefined || namespace === null || namespace === "" ? name : this.flat(namespace, name),
      arguments: args, custom, cache: null, signature: this.owed
    } satisfies ToolCallPart)
    this.owed = null
    this.callers.set(id, this.last()!)
  }

  private result(part: ToolResultPart, path: string): void {
    const caller = this.callers.get(part.id) ?? this.said[this.said.length - 1]
    const results = caller === undefined || caller.role === "tool" ? caller : this.behind.get(caller)
    if (results !== undefined) {
      results.parts.push(part)
      return
    }
    const turn: OpenTurn = { role: "tool", parts: [part], name: null, path }
    if (caller === undefined) this.said.push(turn)
    else this.behind.set(caller, turn)
  }

  private reasoning(item: Of<WireResponses.Item, "reasoning">, path: string): void {
    const id = item.id ?? null
    const encrypted = item.encrypted_content ?? ""
    const signature = encrypted === "" ? null : opened(id, encrypted)
    if (signature !== null && signature.family !== "responses" && id !== null) {
      if (id.startsWith(callCarrier)) {
        this.owed = signature
        return
      }
      if (id.startsWith(textCarrier)) return this.signText(signature, path)
    }
    const parts = this.assistant(path)
    for (const thought of thoughts((item.content ?? []).map((one) => one.text), (item.summary ?? []).map((one) => one.text), signature, id)) parts.push(thought)
  }

  private signText(signature: Signature, path: string): void {
    const parts = this.assistant(path)
    const last = parts.findLastIndex((part) => part.kind === "text")
    const part = parts[last]
    if (part !== undefined && part.kind === "text") parts[last] = { ...part, signature }
  }

  private last(): OpenTurn | undefined {
    const last = this.said[this.said.length - 1]
    return last === undefined ? undefined : this.behind.get(last) ?? last
  }

  private assistant(path: string): Array<ContentPart> {
    const last = this.last()
    if (last !== undefined && last.role === "assistant") return last.parts
    const turn: OpenTurn = { role: "assistant", parts: [], name: null, path }
    this.said.push(turn)
    return turn.parts
  }
}

/** Between the parts of a summary, whose parts are paragraphs. */
const betweenThoughts = "\n\n"

/** One reasoning item: its text, its summary, both or (encrypted only) neither; the last part is signed. */
export const thoughts = (
  content: ReadonlyArray<string>, summary: ReadonlyArray<string>, signature: Signature | null, id: string | null
): ReadonlyArray<ReasoningPart> => {
  const parts: Array<ReasoningPart> = []
  const part = (texts: ReadonlyArray<string>, isSummary: boolean): void => {
    const joined = texts.join(betweenThoughts)
    if (joined !== "") parts.push({ kind: "reasoning", text: joined, summary: isSummary, signature: null, id, redacted: false })
  }
  part(content, false)
  part(summary, true)
  if (parts.length === 0) return [{ kind: "reasoning", text: "", summary: false, signature, id, redacted: signature?.family === "messages" }]
  return parts.with(-1, { ...parts[parts.length - 1]!, signature })
}

export const text = (content: string): TextPart => ({ kind: "text", text: content, cache: null, annotations: [], signature: null })

const partOf = (part: WireResponses.Part, path: string, role: string): TextPart | MediaPart | RefusalPart | OpaquePart => {
  if (isPart(part, "refusal")) {
    if (role !== "assistant") throw invalid(`${path}.type`, `Field '${path}.type': a refusal belongs into a message of the assistant.`)
    return { kind: "refusal", text: part.refusal }
  }
  if (role !== "user" && isMedium(part)) throw invalid(`${path}.type`, `Field '${path}.type': '${part.type}' belongs into a message of the user.`)
  return contentOf(part, path) ?? opaquePart(part, path, role)
}

const clientItem = /_(?:output|approval_response)$/

/** An item that only this format knows: mostly a call of a tool that its vendor runs. */
const opaqueItem = (item: Readonly<Record<string, unknown>>, path: string): OpaquePart => {
  const type = String(item["type"])
  // Such an item stands for a part of the conversation that only the vendor has.
  const isKeptElsewhere = type === "item_reference" || isSealedHistory(item)
  return {
    kind: "opaque", format: "responses", field: path, value: item, listed: `input[].${type.slice(0, 64)}`,
    fallback: isKeptElsewhere ? null : hostedText(type, item)
  }
}

const opaquePart = (part: Readonly<Record<string, unknown>>, path: string, role: string): OpaquePart => {
  const type = String(part["type"])
  const said = part["text"]
  return {
    kind: "opaque", format: "responses", field: path, value: part, listed: `input[].content[].${type.slice(0, 64)}`,
    fallback: typeof said === "string" ? said : role === "assistant" || isHosted(type) ? hostedText(type, part) : null
  }
}

const isMedium = (part: WireResponses.Part): part is Of<WireResponses.Part, "input_image" | "input_file" | "input_audio"> =>
  isPart(part, "input_image") || isPart(part, "input_file") || isPart(part, "input_audio")

const resultContent = (output: WireResponses.Output, path: string): ReadonlyArray<TextPart | MediaPart> =>
  !isParts(output) ? [text(typeof output === "string" ? output : JSON.stringify(output))] : output.map((part, i) => {
    const content = contentOf(part, `${path}[${i}]`)
    // A part of an unknown type is text to the model in any other format.
    return content ?? text(JSON.stringify(part))
  })

const isParts = (output: WireResponses.Output): output is ReadonlyArray<WireResponses.Part> => Array.isArray(output)

/** Text or a medium; null for everything else. */
const contentOf = (part: WireResponses.Part, path: string): TextPart | MediaPart | null => {
  if (isPart(part, "input_text") || isPart(part, "output_text")) {
    const annotations = (part.annotations ?? []).map(annotationOf).filter((one): one is Annotation => one !== null)
    return { kind: "text", text: part.text, cache: cacheOf(part.prompt_cache_breakpoint), annotations, signature: null }
  }
  if (isPart(part, "input_image")) return image(part, path)
  if (isPart(part, "input_file")) return file(part, path)
  if (isPart(part, "input_audio")) {
    return { ...medium, kind: "audio", source: { kind: "base64", mediaType: part.input_audio.format === "mp3" ? "audio/mpeg" : `audio/${part.input_audio.format}`, data: part.input_audio.data } }
  }
  return null
}

const medium = { detail: null, name: null, context: null, citations: null, cache: null, signature: null }

const image = (part: Of<WireResponses.Part, "input_image">, path: string): MediaPart => {
  const url = part.image_url ?? ""
  const id = part.file_id ?? ""
  const base = { ...medium, kind: "image" as const, detail: part.detail ?? null, cache: cacheOf(part.prompt_cache_breakpoint) }
  if (url !== "") return { ...base, source: urlSource(url, `${path}.image_url`) }
  if (id !== "") return { ...base, source: { kind: "file", family: "responses", id, mediaType: null } }
  throw invalid(`${path}.image_url`, `Field '${path}.image_url' must be a URL or a data URI, or 'file_id' must be given.`)
}

const file = (part: Of<WireResponses.Part, "input_file">, path: string): MediaPart => {
  const base = { ...medium, kind: "document" as const, name: part.filename ?? null, cache: cacheOf(part.prompt_cache_breakpoint) }
  const data = part.file_data ?? ""
  // The vendor takes bare base64 here as well as a data URI.
  if (data !== "") return { ...base, source: data.startsWith("data:") ? urlSource(data, `${path}.file_data`) : { kind: "base64", mediaType: typeOfName(part.filename ?? ""), data } }
  if ((part.file_url ?? "") !== "") return { ...base, source: urlSource(part.file_url!, `${path}.file_url`) }
  if ((part.file_id ?? "") !== "") return { ...base, source: { kind: "file", family: "responses", id: part.file_id!, mediaType: null } }
  throw invalid(`${path}.file_data`, `Field '${path}.file_data' must be a data URI, or one of 'file_url' and 'file_id' must be given.`)
}

const typeOfName = (name: string): string => /\.(txt|md|csv)$/i.test(name) ? "text/plain" : "application/pdf"

const dataUri = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i

const urlSource = (url: string, path: string): MediaPart["source"] => {
  if (!/^data:/i.test(url)) return { kind: "url", url, mediaType: null }
  const head = dataUri.exec(url)
  if (head === null || head[1] === "") throw invalid(path, `Field '${path}' must be a data URI of the form 'data:<media type>;base64,<data>'.`)
  const data = url.slice(head[0].length)
  const source = { kind: "base64" as const, mediaType: head[1]!.toLowerCase() }
  return Base64.isSurely(data) ? { ...source, data, checked: true } : { ...source, data: data.replace(/\s+/g, "") }
}

/** Lifetimes are the vendor's own words; only those that another cache knows are kept. */
const cacheOf = (breakpoint: { readonly ttl?: string | null | undefined } | null | undefined): CacheControl | null =>
  breakpoint === null || breakpoint === undefined ? null : { ttl: breakpoint.ttl === "5m" || breakpoint.ttl === "1h" ? breakpoint.ttl : null }
