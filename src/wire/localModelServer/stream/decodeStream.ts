/** An upstream's lines as neutral events; `<think>` text of older servers becomes reasoning. */
import { ThinkSplitter, type ThinkSink } from "#src/wire/chatCompletions/stream/ThinkSplitter.ts"
import { callsOf, createdAtOf, errorOf, finishOf, imagesOf, logprobsOf, usageOf } from "#src/wire/localModelServer/answer.ts"
import { LineScanner, textOf } from "./LineScanner.ts"
import { PlainLine } from "./PlainLine.ts"
import * as Json from "#src/wire/json/json.ts"
import * as LongIntegers from "#src/wire/longIntegers/longIntegers.ts"
import { escape, unescape } from "#src/wire/stream/literal.ts"
import { longEventBytes, type LongStrings } from "#src/wire/json/LongStrings.ts"
import type { StreamDecoder, StreamSink } from "#src/wire/stream/StreamSink.ts"

/** Reads one line after the other; used by the decoder and by the tap of the pass-through. */
export class LineReader {
  private readonly sink: StreamSink
  private readonly plain = new PlainLine()
  private started = false
  /** The last line or an error was read: what follows is ignored. */
  private over = false
  private calls = 0
  /** Off as soon as the content is seen to begin with anything but the tag. */
  private readonly think = new ThinkSplitter()
  private readonly split: ThinkSink

  constructor(sink: StreamSink) {
    this.sink = sink
    this.split = { text: (text) => sink.text(0, escape(text)), thinking: (text) => sink.reasoning(0, escape(text), false) }
  }

  /** One line without its end; false when it is no JSON object. */
  read(line: string, isLong: boolean): boolean {
    if (this.over) return true
    const { plain } = this
    if (!isLong && plain.match(line)) {
      if (plain.literal === "") return true
      if (plain.isThinking) this.sink.reasoning(0, plain.literal, false)
      else if (this.think.isOff) this.sink.text(0, plain.literal)
      else this.think.feed(unescape(plain.literal), this.split)
      return true
    }
    const text = line.trim()
    if (text === "") return true
    const frame = LongIntegers.parseEvent(text, '"tool_calls"')
    if (frame === null) return false
    this.frame(frame)
    if (!isLong) plain.learn(line, frame)
    return true
  }

  private frame(frame: Record<string, unknown>): void {
    const { sink } = this
    const error = errorOf(frame)
    if (error !== null) {
      this.over = true
      sink.failed(error)
      return
    }
    const message = Json.recordAt(frame, "message")
    const isLast = frame["done"] === true
    // A line of some other kind (progress of a download ...): not for us.
    if (message === null && !isLast) return
    if (!this.started) {
      this.started = true
      sink.start({
        id: null, model: typeof frame["model"] === "string" ? frame["model"] : null, createdAt: createdAtOf(frame), serviceTier: null,
        systemFingerprint: null
      })
    }
    if (message !== null) this.message(frame, message)
    if (!isLast) return
    this.think.flush(this.split)
    this.over = true
    const usage = usageOf(frame)
    sink.finish(0, finishOf(frame["done_reason"], this.calls > 0), null)
    if (usage !== null) sink.tokens(usage)
    sink.done()
  }

  private message(frame: Record<string, unknown>, message: Record<string, unknown>): void {
    const { sink } = this
    const { content, thinking } = message
    if (typeof thinking === "string" && thinking !== "") {
      this.think.switchOff()
      sink.reasoning(0, escape(thinking), false)
    }
    if (typeof content === "string" && content !== "") {
      if (this.think.isOff) sink.text(0, escape(content))
      else this.think.feed(content, this.split)
    }
    if (message["tool_calls"] !== undefined || message["images"] !== undefined) this.think.flush(this.split)
    for (const image of imagesOf(message)) {
      sink.media(0, image)
      sink.partEnd(0)
    }
    for (const call of callsOf(frame, message, this.calls)) {
      const index = this.calls++
      sink.toolCall(0, index, call.id, call.name, false, null)
      sink.toolArguments(0, index, escape(call.arguments))
      sink.partEnd(0)
    }
    const logprobs = logprobsOf(frame)
    if (logprobs !== null && logprobs.length > 0) sink.logprobs(0, logprobs)
  }
}

class Decoder implements StreamDecoder {
  private readonly reader: LineReader
  private readonly scanner = new LineScanner(this)
  private isFirst = true
  private isSound = true

  private readonly long: LongStrings | undefined

  constructor(sink: StreamSink) {
    this.long = sink.long
    this.reader = new LineReader(sink)
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

  line(bytes: Buffer, start: number, end: number): void {
    if (!this.isSound) return
    let text = textOf(bytes, start, end, this.long)
    if (this.isFirst) {
      this.isFirst = false
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1)
    }
    if (!this.reader.read(text, end - start > longEventBytes)) this.isSound = false
  }
}

export const makeDecoder = (sink: StreamSink): StreamDecoder => new Decoder(sink)
