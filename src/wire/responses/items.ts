/** Output items while they are written: each keeps its text as JSON literals and can say itself whole. */
import type { Annotation, TokenLogprob } from "#schemas/wire/conversation.ts"
import { JsonEnd } from "#src/wire/json/JsonEnd.ts"
import { annotationJson } from "#src/wire/responses/annotations.ts"
import { escape, lengthOf } from "#src/wire/stream/literal.ts"
import type { Literal } from "#src/wire/stream/StreamSink.ts"

/** Where items write their events. */
export interface ItemEvents {
  readonly event: (type: string, rest: string) => void
  readonly delta: (before: string, after: string, literal: Literal) => void
  readonly tail: (text: string) => void
}

export type ItemStatus = "completed" | "incomplete"

const before = (type: string): string => `event: ${type}\ndata: {"type":"${type}","sequence_number":`
const beforeText = before("response.output_text.delta")
const beforeRefusal = before("response.refusal.delta")
const beforeSummary = before("response.reasoning_summary_text.delta")
const beforeArguments = before("response.function_call_arguments.delta")
const beforeInput = before("response.custom_tool_call_input.delta")
const endOfText = '","logprobs":[]}\n\n'
const endOfDelta = '"}\n\n'

/** A text or a refusal of a message. */
interface Content {
  readonly kind: "text" | "refusal"
  literal: string
  /** Of the text, unescaped. */
  characters: number
  readonly annotations: Array<string>
  logprobs: string
}

export class MessageItem {
  readonly index: number
  /** The newest part is complete: the next text begins another. */
  isEnded = false
  private readonly id: string
  private readonly events: ItemEvents
  private readonly contents: Array<Content> = []
  private open: Content | null = null
  /** What stands between the sequence number and the text of a delta. */
  private middle = ""

  constructor(events: ItemEvents, index: number, id: string) {
    this.events = events
    this.index = index
    this.id = id
    events.event("response.output_item.added", `,"output_index":${index},"item":{"id":"${id}","type":"message","status":"in_progress","content":[],"role":"assistant"}`)
  }

  text(literal: Literal, logprobs: ReadonlyArray<TokenLogprob> | null): void {
    let open = this.open
    if (open === null || this.isEnded || open.kind !== "text") open = this.begin("text")
    open.literal += literal
    open.characters += lengthOf(literal)
    this.events.delta(beforeText, this.middle, literal)
    if (logprobs === null) this.events.tail(endOfText)
    else {
      const entries = logprobsJson(logprobs)
      open.logprobs = joined(open.logprobs, entries)
      this.events.tail(`","logprobs":[${entries}]}\n\n`)
    }
  }

  refusal(literal: Literal): void {
    let open = this.open
    if (open === null || this.isEnded || open.kind !== "refusal") open = this.begin("refusal")
    open.literal += literal
    this.events.delta(beforeRefusal, this.middle, literal)
    this.events.tail(endOfDelta)
  }

  annotation(annotation: Annotation): void {
    const { open } = this
    if (open === null || open.kind !== "text") return
    const json = annotationJson(annotation, open.characters)
    if (json === null) return
    this.events.event("response.output_text.annotation.added", `${this.place()},"annotation_index":${open.annotations.length},"annotation":${json}`)
    open.annotations.push(json)
  }

  /** Log probabilities of the text so far; false when there is none. While the text is open they travel with an empty delta. */
  logprobs(entries: ReadonlyArray<TokenLogprob>): boolean {
    const content = this.open ?? this.contents[this.contents.length - 1]
    if (content === undefined || content.kind !== "text") return false
    const json = logprobsJson(entries)
    content.logprobs = joined(content.logprobs, json)
    if (this.open !== null) {
      this.events.delta(beforeText, this.middle, "")
      this.events.tail(`","logprobs":[${json}]}\n\n`)
    }
    return true
  }

  close(status: ItemStatus): string {
    this.end()
    const json = this.json(status)
    this.events.event("response.output_item.done", `,"output_index":${this.index},"item":${json}`)
    return json
  }

  json(status: ItemStatus): string {
    return `{"id":"${this.id}","type":"message","status":"${status}","content":[${this.contents.map(contentJson).join(",")}],"role":"assistant"}`
  }

  private begin(kind: Content["kind"]): Content {
    this.end()
    this.isEnded = false
    const open: Content = { kind, literal: "", characters: 0, annotations: [], logprobs: "" }
    this.open = open
    this.contents.push(open)
    this.middle = `${this.place()},"delta":"`
    this.events.event("response.content_part.added", `${this.place()},"part":${contentJson(open)}`)
    return open
  }

  private end(): void {
    const { open } = this
    if (open === null) return
    if (open.kind === "text") this.events.event("response.output_text.done", `${this.place()},"logprobs":[${open.logprobs}],"text":"${open.literal}"`)
    else this.events.event("response.refusal.done", `${this.place()},"refusal":"${open.literal}"`)
    this.events.event("response.content_part.done", `${this.place()},"part":${contentJson(open)}`)
    this.open = null
  }

  private place(): string {
    return `,"item_id":"${this.id}","output_index":${this.index},"content_index":${this.contents.length - 1}`
  }
}

const contentJson = (content: Content): string =>
  content.kind === "text"
    ? `{"type":"output_text","annotations":[${content.annotations.join(",")}],"logprobs":[${content.logprobs}],"text":"${content.literal}"}`
    : `{"type":"refusal","refusal":"${content.literal}"}`

const joined = (a: string, b: string): string => a === "" ? b : `${a},${b}`

const logprobsJson = (entries: ReadonlyArray<TokenLogprob>): string =>
  entries.map((entry) => JSON.stringify({ token: entry.token, bytes: entry.bytes ?? [], logprob: entry.logprob, top_logprobs: entry.top.map((one) => ({ token: one.token, bytes: one.bytes ?? [], logprob: one.logprob })) })).join(",")

/** Reasoning is shown as a summary, the one form that clients of this format show. */
export class ReasoningItem {
  readonly index: number
  /** The encoder's count of takes when this item began. */
  readonly takes: number
  id: string
  isEnded = false
  encrypted: string | null = null
  private readonly events: ItemEvents
  private literal: string | null = null
  private middle = ""

  constructor(events: ItemEvents, index: number, id: string, takes: number) {
    this.events = events
    this.index = index
    this.id = id
    this.takes = takes
    events.event("response.output_item.added", `,"output_index":${index},"item":{"id":${JSON.stringify(id)},"type":"reasoning","summary":[]}`)
  }

  text(literal: Literal): void {
    if (this.literal === null) {
      this.literal = ""
      this.events.event("response.reasoning_summary_part.added", `${this.place()},"part":{"type":"summary_text","text":""}`)
      this.middle = `${this.place()},"delta":"`
    }
    this.literal += literal
    this.events.delta(beforeSummary, this.middle, literal)
    this.events.tail(endOfDelta)
  }

  close(): string {
    if (this.literal !== null) {
      this.events.event("response.reasoning_summary_text.done", `${this.place()},"text":"${this.literal}"`)
      this.events.event("response.reasoning_summary_part.done", `${this.place()},"part":{"type":"summary_text","text":"${this.literal}"}`)
    }
    const json = this.json()
    this.events.event("response.output_item.done", `,"output_index":${this.index},"item":${json}`)
    return json
  }

  json(_status?: ItemStatus): string {
    const summary = this.literal === null ? "" : `{"type":"summary_text","text":"${this.literal}"}`
    const encrypted = this.encrypted === null ? "" : `,"encrypted_content":${JSON.stringify(this.encrypted)}`
    return `{"id":${JSON.stringify(this.id)},"type":"reasoning","summary":[${summary}]${encrypted}}`
  }

  private place(): string {
    return `,"item_id":${JSON.stringify(this.id)},"output_index":${this.index},"summary_index":0`
  }
}

/** Longest item id the vendor takes back. */
const maxItemId = 64

export class CallItem {
  readonly index: number
  private readonly id: string
  private readonly events: ItemEvents
  private readonly custom: boolean
  /** Members that never change: call id, name, namespace. */
  private readonly named: string
  private readonly place: string
  private readonly middle: string
  private literal = ""
  private readonly end = new JsonEnd()

  constructor(events: ItemEvents, index: number, callId: string, name: { readonly name: string; readonly namespace: string | null }, custom: boolean) {
    this.events = events
    this.index = index
    this.custom = custom
    this.id = JSON.stringify(`${custom ? "ctc" : "fc"}_${callId}`.slice(0, maxItemId))
    this.named = JSON.stringify({ call_id: callId, name: name.name, ...(name.namespace === null ? {} : { namespace: name.namespace }) }).slice(1, -1)
    this.place = `,"item_id":${this.id},"output_index":${index}`
    this.middle = `${this.place},"delta":"`
    events.event("response.output_item.added", `,"output_index":${index},"item":${this.text("in_progress", "")}`)
  }

  arguments(literal: Literal): void {
    this.literal += literal
    if (!this.custom) this.end.push(literal)
    this.events.delta(this.custom ? beforeInput : beforeArguments, this.middle, literal)
    this.events.tail(endOfDelta)
  }

  /** Nothing of the arguments can be missing. */
  isWhole(): boolean {
    return this.custom || this.end.isReached(this.literal)
  }

  close(): string {
    const literal = this.whole()
    if (this.custom) this.events.event("response.custom_tool_call_input.done", `${this.place},"input":"${literal}"`)
    else this.events.event("response.function_call_arguments.done", `${this.place},"arguments":"${literal}"`)
    const json = this.json("completed")
    this.events.event("response.output_item.done", `,"output_index":${this.index},"item":${json}`)
    return json
  }

  json(status: ItemStatus): string {
    return this.text(status, this.whole())
  }

  /** A call without arguments has an empty object of them. */
  private whole(): Literal {
    return this.literal === "" && !this.custom ? escape("{}") : this.literal
  }

  private text(status: string, literal: Literal): string {
    return `{"id":${this.id},"type":"${this.custom ? "custom_tool_call" : "function_call"}","status":"${status}",${this.named},"${this.custom ? "input" : "arguments"}":"${literal}"}`
  }
}

/** A generated image, known at once. */
export class ImageItem {
  readonly index: number
  private readonly text: string

  constructor(events: ItemEvents, index: number, id: string, mediaType: string, data: string) {
    this.index = index
    const of = (status: string, result: string | null): string =>
      JSON.stringify({ id, type: "image_generation_call", status, result, output_format: mediaType.replace(/^image\//, "") })
    this.text = of("completed", data)
    events.event("response.output_item.added", `,"output_index":${index},"item":${of("in_progress", null)}`)
    events.event("response.image_generation_call.completed", `,"item_id":"${id}","output_index":${index}`)
    events.event("response.output_item.done", `,"output_index":${index},"item":${this.text}`)
  }

  json(): string {
    return this.text
  }
}
