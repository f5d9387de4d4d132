/** An upstream's responses stream as neutral events; lenient, since many servers implement a part of the format. */
import { annotationsOf, calledName, finishOf, imageOf, logprobsOf, reasoningOf, recordsAt, usageIn, wordAt } from "#src/wire/responses/answer.ts"
import { annotationOf } from "#src/wire/responses/annotations.ts"
import { errorOf } from "#src/wire/responses/errors.ts"
import { FrameShape } from "./FrameShape.ts"
import { pack } from "#src/wire/responses/reasoning.ts"
import { longEventBytes } from "#src/wire/json/LongStrings.ts"
import { dataOf, SseScanner } from "#src/wire/stream/SseScanner.ts"
import * as Json from "#src/wire/json/json.ts"
import { escape } from "#src/wire/stream/literal.ts"
import type { StreamDecoder, StreamSink } from "#src/wire/stream/StreamSink.ts"

type Frame = Record<string, unknown>

/** One output item while it is open. */
interface OpenItem {
  readonly type: string
  readonly id: string | null
  /** Number of the call, -1 until its name is known. */
  call: number
  callId: string
  /** Text of this item that was handed on: by part for a message, under key 0 for arguments. */
  readonly seen: Set<number>
  /** Annotations and log probabilities that were handed on, by part. */
  readonly annotated: Map<number, number>
  readonly probed: Set<number>
  /** The paragraph of a reasoning item that is open, -1 before the first; `summary` is what kind it is of. */
  thought: number
  summary: boolean
  isDone: boolean
}

/** What a kind of delta says; the shape of the newest one is kept with it. */
type Delta = "text" | "refusal" | "reasoning" | "summary" | "arguments"

const deltas: Readonly<Record<string, Delta>> = {
  "response.output_text.delta": "text",
  "response.refusal.delta": "refusal",
  "response.reasoning_text.delta": "reasoning",
  "response.reasoning_summary_text.delta": "summary",
  // Names that other servers and older versions use.
  "response.reasoning.delta": "reasoning",
  "response.reasoning_summary.delta": "summary",
  "response.function_call_arguments.delta": "arguments",
  "response.custom_tool_call_input.delta": "arguments"
}

/** Between the paragraphs of one item's reasoning: one signature signs them all, so they are one part. */
const betweenThoughts = escape("\n\n")

export class ResponsesDecoder implements StreamDecoder {
  private readonly sink: StreamSink
  private readonly scanner: SseScanner
  private readonly items = new Map<string, OpenItem>()
  private readonly itemsById = new Map<string, OpenItem>()
  private newest: OpenItem | null = null
  private shape: FrameShape | null = null
  private delta: Delta = "text"
  private shapedCall = 0
  private calls = 0
  private hasRefusal = false
  private isStarted = false
  private isClosed = false
  private isSound = true

  constructor(sink: StreamSink) {
    this.sink = sink
    this.scanner = new SseScanner(this)
  }

  push(chunk: Buffer): boolean {
    if (!this.scanner.push(chunk)) this.isSound = false
    return this.isSound
  }

  end(): boolean {
    this.scanner.flush()
    return this.isSound
  }

  close(): void {
    this.scanner.close()
  }

  /** One complete event (called by the scanner). */
  event(bytes: Buffer, start: number, end: number): void {
    if (this.isClosed || !this.isSound) return
    const { shape } = this
    const isLong = end - start > longEventBytes
    if (shape !== null && !isLong) {
      const raw = bytes.toString("latin1", start, end)
      if (shape.matches(raw)) return this.say(shape.literal(raw, bytes, start))
    }
    const data = dataOf(bytes, start, end, this.sink.long)
    if (data === null || data === "" || data.trim() === "[DONE]") return
    const frame = Json.parseRecord(data)
    if (frame === null) {
      this.isSound = false
      return
    }
    this.shape = null
    this.frame(frame, wordAt(frame, "type") ?? nameOf(bytes.toString("utf8", start, Math.min(end, start + longestName))), isLong ? null : bytes.toString("utf8", start, end))
  }

  /** The text of an event of the known shape. */
  private say(literal: string): void {
    switch (this.delta) {
      case "text": return this.sink.text(0, literal)
      case "refusal": return this.refusal(literal)
      case "reasoning": return this.sink.reasoning(0, literal, false)
      case "summary": return this.sink.reasoning(0, literal, true)
      case "arguments": return this.sink.toolArguments(0, this.shapedCall, literal)
    }
  }

  /** `text`: the event, null when no shape is to be learned of it. */
  private frame(frame: Frame, type: string, text: string | null): void {
    const error = errorOf(type === "" || wordAt(frame, "type") !== null ? frame : { ...frame, type })
    const response = Json.recordAt(frame, "response")
    if (error !== null) {
      this.isClosed = true
      const usage = response === null ? null : usageIn(response)
      if (usage !== null) this.sink.tokens(usage)
      return this.sink.failed(error)
    }
    const kind = deltas[type]
    if (kind !== undefined) return this.noteDelta(kind, frame, text)
    switch (type) {
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        return this.start(response ?? {})
      case "response.completed":
      case "response.incomplete":
      case "response.done":
        return this.finish(response ?? {}, type)
      case "response.output_item.added":
        return this.itemAdded(frame)
      case "response.output_item.done":
        return this.itemDone(Json.recordAt(frame, "item") ?? {}, keyOf(frame))
      case "response.output_text.done":
      case "response.refusal.done":
        return this.textDone(this.itemOf(frame, "message"), partIndex(frame), type === "response.refusal.done" ? wordAt(frame, "refusal") : wordAt(frame, "text"), type === "response.refusal.done", frame["logprobs"])
      case "response.content_part.done": {
        const part = Json.recordAt(frame, "part")
        if (part !== null && part["type"] !== "reasoning_text") this.contentDone(this.itemOf(frame, "message"), partIndex(frame), part)
        return
      }
      case "response.output_text.annotation.added": {
        const item = this.itemOf(frame, "message")
        const annotation = annotationOf(Json.recordAt(frame, "annotation") ?? {})
        const index = partIndex(frame)
        item.annotated.set(index, (item.annotated.get(index) ?? 0) + 1)
        if (annotation !== null) this.sink.annotation(0, annotation)
        return
      }
      case "response.reasoning_text.done":
      case "response.reasoning_summary_text.done": {
        const item = this.itemOf(frame, "reasoning")
        const isSummary = type === "response.reasoning_summary_text.done"
        const index = thoughtIndex(frame, isSummary)
        const whole = wordAt(frame, "text")
        if (whole !== null && !item.seen.has(thoughtKey(index, isSummary))) this.think(item, index, isSummary, escape(whole))
        return
      }
      case "response.function_call_arguments.done":
      case "response.custom_tool_call_input.done": {
        const item = this.itemOf(frame, type === "response.custom_tool_call_input.done" ? "custom_tool_call" : "function_call")
        this.called(item, frame)
        return this.argumentsDone(item, wordAt(frame, "arguments") ?? wordAt(frame, "input"))
      }
    }
  }

  private start(response: Frame): void {
    if (this.isStarted) return
    this.isStarted = true
    this.sink.start({
      id: wordAt(response, "id"),
      model: wordAt(response, "model"),
      createdAt: typeof response["created_at"] === "number" ? Math.floor(response["created_at"]) : null,
      serviceTier: wordAt(response, "service_tier"),
      systemFingerprint: null
    })
  }

  // ---- Deltas --------------------------------------------------------------------------------------------------------------------------

  private noteDelta(kind: Delta, frame: Frame, text: string | null): void {
    this.start({})
    const delta = frame["delta"]
    if (typeof delta !== "string") return
    this.delta = kind
    switch (kind) {
      case "text":
      case "refusal": {
        const item = this.itemOf(frame, "message")
        const index = partIndex(frame)
        this.openPart(item, index)
        this.say(escape(delta))
        this.probe(item, index, frame["logprobs"])
        break
      }
      case "reasoning":
      case "summary":
        this.think(this.itemOf(frame, "reasoning"), thoughtIndex(frame, kind === "summary"), kind === "summary", escape(delta))
        break
      case "arguments": {
        const item = this.itemOf(frame, "function_call")
        // Without a name there is no call yet: its arguments come whole with its last event.
        if (item.call === -1) return
        item.seen.add(0)
        this.shapedCall = item.call
        this.say(escape(delta))
      }
    }
    this.shape = text === null ? null : FrameShape.of(text, frame)
  }

  /** Two texts of one item are two parts. */
  private openPart(item: OpenItem, index: number): void {
    if (item.seen.has(index)) return
    if (item.seen.size > 0) this.sink.partEnd(0)
    item.seen.add(index)
  }

  private think(item: OpenItem, index: number, isSummary: boolean, literal: string): void {
    this.start({})
    const key = thoughtKey(index, isSummary)
    if (literal === "") return
    if (!item.seen.has(key)) {
      item.seen.add(key)
      if (item.thought !== -1 && item.summary === isSummary) this.sink.reasoning(0, betweenThoughts, isSummary)
      else if (item.thought !== -1) this.sink.partEnd(0)
      item.thought = index
      item.summary = isSummary
    }
    this.sink.reasoning(0, literal, isSummary)
  }

  private refusal(literal: string): void {
    this.hasRefusal = true
    this.sink.refusal(0, literal)
  }

  private probe(item: OpenItem, index: number, value: unknown): void {
    const entries = logprobsOf(value)
    if (entries.length === 0) return
    item.probed.add(index)
    this.sink.logprobs(0, entries)
  }

  // ---- What is done --------------------------------------------------------------------------------------------------------------------

  /** A text that was never streamed is given whole. */
  private textDone(item: OpenItem, index: number, whole: string | null, isRefusal: boolean, logprobs: unknown): void {
    this.start({})
    if (whole !== null && !item.seen.has(index)) {
      this.openPart(item, index)
      if (isRefusal) this.refusal(escape(whole))
      else this.sink.text(0, escape(whole))
    }
    if (!item.probed.has(index)) this.probe(item, index, logprobs)
  }

  private contentDone(item: OpenItem, index: number, part: Frame): void {
    this.textDone(item, index, wordAt(part, "text") ?? wordAt(part, "refusal"), part["type"] === "refusal", part["logprobs"])
    const annotations = annotationsOf(part)
    for (const annotation of annotations.slice(item.annotated.get(index) ?? 0)) this.sink.annotation(0, annotation)
    item.annotated.set(index, Math.max(annotations.length, item.annotated.get(index) ?? 0))
  }

  private argumentsDone(item: OpenItem, whole: string | null): void {
    if (whole === null || item.call === -1 || item.seen.has(0)) return
    item.seen.add(0)
    this.sink.toolArguments(0, item.call, escape(whole))
  }

  private itemAdded(frame: Frame): void {
    this.start({})
    const item = Json.recordAt(frame, "item")
    if (item === null) return
    const open = this.open(wordAt(item, "type") ?? "message", wordAt(item, "id"), keyOf(frame))
    this.called(open, item)
  }

  private itemDone(item: Frame, key: string): void {
    this.start({})
    const type = wordAt(item, "type") ?? "message"
    const open = this.items.get(key) ?? this.byId(wordAt(item, "id")) ?? this.open(type, wordAt(item, "id"), key)
    if (open.isDone) return
    open.isDone = true
    switch (type) {
      case "message":
        recordsAt(item, "content").forEach((part, index) => this.contentDone(open, index, part))
        break
      case "function_call":
      case "custom_tool_call":
        this.called(open, item)
        this.argumentsDone(open, wordAt(item, "arguments") ?? wordAt(item, "input"))
        break
      case "reasoning":
        this.reasoningDone(open, item)
        break
      case "image_generation_call": {
        const image = imageOf(item)
        if (image === null) return
        this.sink.media(0, image)
        break
      }
      default:
        return
    }
    this.sink.partEnd(0)
  }

  private reasoningDone(open: OpenItem, item: Frame): void {
    const { content, encrypted, id, summary } = reasoningOf(item)
    if (open.seen.size === 0) {
      content.forEach((text, index) => this.think(open, index, false, escape(text)))
      summary.forEach((text, index) => this.think(open, index, true, escape(text)))
    }
    if (encrypted === null) return
    if (open.seen.size === 0) this.sink.hiddenReasoning(0, pack(id, encrypted), id)
    else this.sink.signature(0, pack(id, encrypted))
  }

  private finish(response: Frame, type: string): void {
    this.start(response)
    const isUnseen = this.items.size === 0
    // What was streamed, by kind and call: an item may stand under another number here.
    const received = new Set([...this.items.values()].map(({ callId, type }) => `${type} ${callId}`))
    recordsAt(response, "output").forEach((item, index) => {
      // Servers that stream nothing, or only a part of their items, name them here.
      const key = String(index)
      const [kind, callId] = [String(item["type"]), wordAt(item, "call_id") ?? ""]
      const isReceived = received.has(`${kind} `) || received.has(`${kind} ${callId}`)
      if (isReceived && !isUnseen && !this.items.has(key) && this.byId(wordAt(item, "id")) === null) return
      this.itemDone(item, key)
      received.add(`${kind} ${callId}`)
    })
    const usage = usageIn(response)
    if (usage !== null) this.sink.tokens(usage)
    const status = wordAt(response, "status") ?? (type === "response.incomplete" ? "incomplete" : "completed")
    this.sink.finish(0, finishOf({ ...response, status }, this.calls > 0, this.hasRefusal) ?? (this.calls > 0 ? "tool-calls" : "stop"), null)
    this.isClosed = true
    this.sink.done()
  }

  // ---- Items ---------------------------------------------------------------------------------------------------------------------------

  /** The item an event belongs to; made when it was not announced. */
  private itemOf(frame: Frame, type: string): OpenItem {
    this.start({})
    const id = wordAt(frame, "item_id")
    const { newest } = this
    if (newest !== null && id !== null && newest.id === id) return newest
    const known = this.byId(id) ?? this.items.get(keyOf(frame))
    if (known !== undefined && known !== null) return known
    if (frame["output_index"] === undefined && id === null && newest !== null && newest.type === type) return newest
    return this.open(type, id, keyOf(frame))
  }

  private byId(id: string | null): OpenItem | null {
    return id === null ? null : this.itemsById.get(id) ?? null
  }

  private open(type: string, id: string | null, key: string): OpenItem {
    const item: OpenItem = { type, id, call: -1, callId: "", seen: new Set(), annotated: new Map(), probed: new Set(), thought: -1, summary: false, isDone: false }
    this.items.set(key, item)
    if (id !== null && !this.itemsById.has(id)) this.itemsById.set(id, item)
    this.newest = item
    return item
  }

  /** Hands a call on as soon as its name is known. */
  private called(open: OpenItem, item: Frame): void {
    const type = wordAt(item, "type") ?? ""
    const isCustom = open.type === "custom_tool_call" || type === "custom_tool_call" || type.startsWith("response.custom_tool_call")
    if (open.call !== -1 || (open.type !== "function_call" && open.type !== "custom_tool_call")) return
    if (wordAt(item, "name") === null) return
    open.call = this.calls++
    open.callId = wordAt(item, "call_id") ?? wordAt(item, "id") ?? open.id ?? wordAt(item, "item_id") ?? ""
    this.sink.toolCall(0, open.call, open.callId, calledName(item), isCustom, null)
  }
}

const keyOf = (frame: Frame): string => typeof frame["output_index"] === "number" ? String(frame["output_index"]) : wordAt(frame, "item_id") ?? ""

const partIndex = (frame: Frame): number => Json.countAt(frame, "content_index")

const thoughtIndex = (frame: Frame, isSummary: boolean): number => Json.countAt(frame, isSummary ? "summary_index" : "content_index")

/** Texts and summaries of an item are numbered apart. */
const thoughtKey = (index: number, isSummary: boolean): number => isSummary ? -1 - index : index

/** The `event:` line, for servers whose data does not repeat it. */
/** Characters in which the line with an event's name ends. */
const longestName = 256
const nameOf = (text: string): string => /(?:^|[\r\n])event: ?([^\r\n]+)/.exec(text)?.[1] ?? ""
