/** Reads an upstream's Messages stream into the neutral events. */
import type { Annotation, TokenUsage } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Carriers from "#src/wire/messages/carriers.ts"
import { annotationOf } from "#src/wire/messages/citations.ts"
import { ContentFrames } from "./ContentFrames.ts"
import { errorOf } from "#src/wire/messages/errors.ts"
import { countsOutput, finishOf, usageOf } from "#src/wire/messages/usage.ts"
import { longEventBytes } from "#src/wire/json/LongStrings.ts"
import { dataOf, SseScanner } from "#src/wire/stream/SseScanner.ts"
import { escape } from "#src/wire/stream/literal.ts"
import type { Literal, StreamDecoder, StreamSink } from "#src/wire/stream/StreamSink.ts"

type Frame = Readonly<Record<string, unknown>>
type Block = "text" | "thinking" | "tool" | "other"

const textAt = (value: Frame, key: string): string => typeof value[key] === "string" ? value[key] : ""

export class MessagesDecoder implements StreamDecoder {
  private readonly sink: StreamSink
  private readonly scanner: SseScanner
  private readonly frames = new ContentFrames()
  private started = false
  private finished = false
  /** The final event was read: message_stop or an error. */
  private over = false
  private malformed = false
  private usage: TokenUsage | null = null
  private block: Block | null = null
  /** The open block said something: text, thoughts or arguments. */
  private spoke = false
  /** Signature of the open thinking block. */
  private signature = ""
  /** Input that came with the start of a tool_use block. */
  private input: unknown = null
  private call = -1
  /** Citations of the open text block; they may come before its text, so they wait for its end. */
  private annotations: Array<Annotation> = []

  constructor(sink: StreamSink) {
    this.sink = sink
    this.scanner = new SseScanner(this)
  }

  push(chunk: Buffer): boolean {
    if (!this.scanner.push(chunk)) this.malformed = true
    return !this.malformed
  }

  end(): boolean {
    this.scanner.flush()
    return !this.malformed
  }

  close(): void {
    this.scanner.close()
  }

  /** One complete event of the upstream (called by the scanner). */
  event(bytes: Buffer, start: number, end: number): void {
    if (this.over || this.malformed) return
    const isLong = end - start > longEventBytes
    if (!isLong) {
      const raw = bytes.toString("latin1", start, end)
      if (this.frames.match(raw)) {
        this.content(this.frames.literal(raw, bytes, start))
        return
      }
    }
    const data = dataOf(bytes, start, end, this.sink.long)
    if (data === null || data.trim() === "" || data.trim() === "[DONE]") return
    const frame = Json.parseRecord(data)
    if (frame === null) this.malformed = true
    else this.frame(frame, isLong ? null : bytes.toString("utf8", start, end))
  }

  private content(literal: Literal): void {
    if (literal === "") return
    this.spoke = true
    switch (this.frames.content) {
      case "text": return this.sink.text(0, literal)
      case "thinking": return this.sink.reasoning(0, literal, false)
      case "arguments": return this.sink.toolArguments(0, this.call, literal)
      case "none": return
    }
  }

  /** `text`: the event, null when no frame is to be learned of it. */
  private frame(frame: Frame, text: string | null): void {
    switch (frame["type"]) {
      case "message_start": return this.start(Json.recordAt(frame, "message") ?? {})
      case "content_block_start": return this.startBlock(Json.recordAt(frame, "content_block") ?? {})
      case "content_block_delta": return this.delta(frame, Json.recordAt(frame, "delta") ?? {}, text)
      case "content_block_stop": return this.stopBlock()
      case "message_delta": return this.messageDelta(frame)
      case "message_stop":
        this.stopBlock()
        this.over = true
        return this.sink.done()
      default: {
        const error = frame["type"] === "error" || frame["type"] === undefined ? errorOf(frame) : null
        if (error === null) return
        this.over = true
        return this.sink.failed(error)
      }
    }
  }

  private start(message: Frame): void {
    if (this.started) return
    this.started = true
    const usage = message["usage"]
    this.sink.start({
      id: typeof message["id"] === "string" ? message["id"] : null,
      model: typeof message["model"] === "string" ? message["model"] : null,
      createdAt: null,
      serviceTier: Json.isRecord(usage) && typeof usage["service_tier"] === "string" ? usage["service_tier"] : null,
      systemFingerprint: null
    })
    this.count(usage, true)
  }

  private count(value: unknown, partial: boolean): void {
    const usage = usageOf(value, this.usage)
    if (usage === null || usage === this.usage) return
    this.usage = usage
    this.sink.tokens(usage, partial)
  }

  private startBlock(block: Frame): void {
    this.start({})
    this.stopBlock()
    switch (block["type"]) {
      case "text": {
        this.block = "text"
        if (Array.isArray(block["citations"])) for (const citation of block["citations"]) this.cite(citation)
        const text = textAt(block, "text")
        if (text !== "") {
          this.spoke = true
          this.sink.text(0, escape(text))
        }
        return
      }
      case "thinking": {
        this.block = "thinking"
        this.signature = textAt(block, "signature")
        const text = textAt(block, "thinking")
        if (text !== "") {
          this.spoke = true
          this.sink.reasoning(0, escape(text), false)
        }
        return
      }
      case "redacted_thinking":
        this.block = "other"
        return this.sink.hiddenReasoning(0, { family: "messages", value: textAt(block, "data") }, null)
      case "tool_use":
        this.block = "tool"
        this.call++
        this.input = block["input"]
        return this.sink.toolCall(0, this.call, textAt(block, "id"), textAt(block, "name"), false, null)
      default:
        // Tools that the vendor runs itself: no other vendor could read their blocks.
        this.block = "other"
    }
  }

  private delta(frame: Frame, delta: Frame, text: string | null): void {
    this.start({})
    switch (delta["type"]) {
      case "text_delta": return this.learned(frame, delta, text, "text", "text")
      case "thinking_delta": return this.learned(frame, delta, text, "thinking", "thinking")
      case "input_json_delta": return this.learned(frame, delta, text, "partial_json", this.block === "tool" ? "arguments" : "none")
      case "signature_delta":
        this.signature += textAt(delta, "signature")
        return
      case "citations_delta": return this.cite(delta["citation"])
      default:
    }
  }

  private learned(frame: Frame, delta: Frame, text: string | null, key: string, content: ContentFrames["content"]): void {
    // A delta without its block's start still says what it is.
    if (this.block === null && content !== "none") this.block = content === "text" ? "text" : "thinking"
    if (text === null) this.frames.forget()
    else this.frames.learn(text, frame, key, content)
    this.frames.content = content
    this.content(escape(textAt(delta, key)))
  }

  private cite(value: unknown): void {
    const annotation = annotationOf(value)
    if (annotation !== null) this.annotations.push(annotation)
  }

  private stopBlock(): void {
    const { block } = this
    if (block === null) return
    this.frames.forget()
    this.block = null
    if (block === "text" && this.spoke) {
      for (const annotation of this.annotations) this.sink.annotation(0, annotation)
      this.sink.partEnd(0)
    } else if (block === "thinking") {
      if (this.spoke) {
        if (this.signature !== "") this.sink.signature(0, { family: "messages", value: this.signature })
        this.sink.partEnd(0)
      } else if (this.signature !== "") this.sink.hiddenReasoning(0, Carriers.ofOmitted(this.signature), null)
    } else if (block === "tool") {
      if (!this.spoke) this.sink.toolArguments(0, this.call, escape(typeof this.input === "string" ? this.input : JSON.stringify(this.input ?? {})))
      this.sink.partEnd(0)
    }
    this.spoke = false
    this.signature = ""
    this.input = null
    if (this.annotations.length > 0) this.annotations = []
  }

  private messageDelta(frame: Frame): void {
    this.start({})
    this.stopBlock()
    const delta = Json.recordAt(frame, "delta") ?? {}
    const reason = finishOf(delta["stop_reason"])
    if (reason !== null && !this.finished) {
      this.finished = true
      const stop = delta["stop_sequence"]
      this.sink.finish(0, reason, typeof stop === "string" ? stop : null)
    }
    this.count(frame["usage"], !countsOutput(frame["usage"]))
  }
}
