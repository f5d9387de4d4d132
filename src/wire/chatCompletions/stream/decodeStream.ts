/**
 * Reads a chat-completions stream into neutral events. Plain content frames are known by their shape and never parsed; all
 * others are parsed and read leniently, because the format's many servers differ.
 */
import { readAnnotations } from "#src/wire/chatCompletions/annotations.ts"
import { errorOf, usageIn } from "#src/wire/chatCompletions/answer.ts"
import { readFinish } from "#src/wire/chatCompletions/finish.ts"
import { FrameShapes, type Shape } from "./FrameShapes.ts"
import { media } from "#src/wire/chatCompletions/request/media.ts"
import {
  argumentsOfFrame, callsOf, contentOf, deltaOfFrame, imagesOf, logprobsOf, makeCallId, onlyKey, type SaidCall, stringAt
} from "#src/wire/chatCompletions/request/message.ts"
import { openSignature, plainReasoning, thoughtSignature, withoutCalls } from "#src/wire/chatCompletions/reasoning.ts"
import { ThinkSplitter, type ThinkSink } from "./ThinkSplitter.ts"
import * as Json from "#src/wire/json/json.ts"
import { longEventBytes } from "#src/wire/json/LongStrings.ts"
import { dataOf, SseScanner } from "#src/wire/stream/SseScanner.ts"
import { escape } from "#src/wire/stream/literal.ts"
import type { StreamDecoder, StreamSink } from "#src/wire/stream/StreamSink.ts"

type Frame = Record<string, unknown>

interface OpenCall {
  /** As the vendor numbers it. */
  readonly index: number
  id: string
  custom: boolean
  /** As the sink numbers it; -1 until the name is known. */
  at: number
  pending: string
  signature: unknown
}

class Choice implements ThinkSink {
  readonly index: number
  readonly think = new ThinkSplitter()
  private readonly sink: StreamSink
  newest: "none" | "text" | "reasoning" | "refusal" | "call" = "none"
  /** Reasoning comes in a plain field, so that details repeat it. */
  plain = false
  /** The newest reasoning is complete. */
  signed = false
  detailIndex: unknown = null
  refused = false
  begun = false
  finished = false
  /** The newest call of each of the vendor's numbers. */
  readonly calls = new Map<number, OpenCall>()
  newestCall: OpenCall | null = null
  /** The first call of each id. */
  readonly callsById = new Map<string, OpenCall>()
  started = 0
  audio: Array<Buffer> | null = null

  constructor(index: number, sink: StreamSink) {
    this.index = index
    this.sink = sink
  }

  text(text: string): void {
    this.newest = "text"
    this.sink.text(this.index, escape(text))
  }

  thinking(text: string): void {
    this.reasoning(text, false)
  }

  reasoning(text: string, summary: boolean): void {
    if (this.signed && this.newest === "reasoning") this.sink.partEnd(this.index)
    this.newest = "reasoning"
    this.signed = false
    this.sink.reasoning(this.index, escape(text), summary)
  }
}

/** What the literal of a known frame is. */
interface Meaning {
  readonly kind: "text" | "reasoning" | "arguments"
  readonly choice: Choice
  readonly call: number
}

export class ChatDecoder implements StreamDecoder {
  private readonly sink: StreamSink
  private readonly scanner: SseScanner
  private readonly shapes = new FrameShapes<Meaning>()
  private readonly choices = new Map<number, Choice>()
  private started = false
  private over = false
  private broken = false
  private id = ""

  constructor(sink: StreamSink) {
    this.sink = sink
    this.scanner = new SseScanner(this)
  }

  push(chunk: Buffer): boolean {
    if (!this.scanner.push(chunk)) this.broken = true
    return !this.broken
  }

  end(): boolean {
    this.scanner.flush()
    if (!this.over) for (const choice of this.choices.values()) if (!choice.finished) choice.think.flush(choice)
    return !this.broken
  }

  close(): void {
    this.scanner.close()
  }

  /** One complete event of the upstream (called by the scanner). */
  event(bytes: Buffer, start: number, end: number): void {
    if (this.over || this.broken) return
    const isLong = end - start > longEventBytes
    if (!isLong) {
      const text = bytes.toString("latin1", start, end)
      const shape = this.shapes.match(text)
      if (shape !== null && this.known(text, bytes, start, shape)) return
    }
    const data = dataOf(bytes, start, end, this.sink.long)
    if (data === null) return
    const trimmed = data.trim()
    if (trimmed === "") return
    if (trimmed === "[DONE]") {
      this.finishAll()
      return
    }
    const frame = Json.parseRecord(trimmed)
    if (frame === null) this.broken = true
    else this.frame(frame, isLong ? null : bytes.toString("utf8", start, end))
  }

  /** Hands on the literal of a known frame; false when its text must be looked at. */
  private known(text: string, bytes: Buffer, start: number, shape: Shape<Meaning>): boolean {
    const { kind, choice, call } = shape.meaning
    if (choice.finished) return true
    const literal = this.shapes.literal(text, bytes, start, shape)
    if (kind === "arguments") {
      choice.newest = "call"
      this.sink.toolArguments(choice.index, call, literal)
      return true
    }
    if (kind === "reasoning") {
      if (choice.newest !== "reasoning" || choice.signed) return false
      this.sink.reasoning(choice.index, literal, false)
      return true
    }
    if (choice.think.isOff) {
      choice.newest = "text"
      this.sink.text(choice.index, literal)
      return true
    }
    // A `<` may be escaped; the splitter then sees it unescaped.
    if (!choice.think.isPlainThinking || literal.includes("<") || literal.includes("\\u00") || choice.newest !== "reasoning" || choice.signed) return false
    this.sink.reasoning(choice.index, literal, false)
    return true
  }

  private finishAll(): void {
    this.over = true
    for (const choice of this.choices.values()) if (choice.begun && !choice.finished) this.finish(choice, "stop", null)
    this.sink.done()
  }

  /** `text`: the event, null when no shape is to be learned of it. */
  private frame(frame: Frame, text: string | null): void {
    const error = errorOf(frame)
    if (error !== null) {
      this.over = true
      this.sink.failed(error)
      return
    }
    const choices = frame["choices"]
    if (Array.isArray(choices) && choices.length > 0) {
      this.begin(frame)
      for (const said of choices) if (Json.isRecord(said)) this.choice(said, frame, choices.length === 1 ? text : null)
    }
    const usage = usageIn(frame)
    if (usage !== null) this.sink.tokens(usage)
  }

  private begin(frame: Frame): void {
    if (this.started) return
    this.started = true
    this.id = stringAt(frame, "id")
    const created = frame["created"]
    this.sink.start({
      id: this.id === "" ? null : this.id,
      model: stringAt(frame, "model") || null,
      createdAt: typeof created === "number" ? created : null,
      serviceTier: stringAt(frame, "service_tier") || null,
      systemFingerprint: stringAt(frame, "system_fingerprint") || null
    })
  }

  private choiceAt(index: unknown): Choice {
    const at = typeof index === "number" ? index : 0
    let choice = this.choices.get(at)
    if (choice === undefined) {
      choice = new Choice(at, this.sink)
      this.choices.set(at, choice)
    }
    return choice
  }

  /** `text`: the event, when it may be learnt. */
  private choice(said: Frame, frame: Frame, text: string | null): void {
    const choice = this.choiceAt(said["index"])
    if (choice.finished) return
    const delta = Json.recordAt(said, "delta") ?? Json.recordAt(said, "message") ?? { content: said["text"] }
    this.delta(choice, delta)
    const logprobs = logprobsOf(said["logprobs"])
    if (logprobs !== null) this.sink.logprobs(choice.index, logprobs)
    const reason = said["finish_reason"]
    if (typeof reason === "string" && reason !== "") {
      const stopped = said["stop_reason"]
      this.finish(choice, reason, typeof stopped === "string" ? stopped : null)
    } else if (text !== null && logprobs === null && !frame["usage"] && !frame["x_groq"] && !said["usage"]) this.learn(choice, said, delta, text)
  }

  private delta(choice: Choice, delta: Frame): void {
    this.reasoning(choice, delta)
    const { text, thinking } = contentOf(delta["content"])
    if (thinking !== "") this.reason(choice, thinking, false)
    if (text !== "") {
      choice.begun = true
      choice.think.feed(text, choice)
    }
    const audio = Json.recordAt(delta, "audio")
    if (audio !== null) this.audio(choice, audio)
    const refusal = stringAt(delta, "refusal")
    if (refusal !== "") {
      this.other(choice, "refusal")
      choice.refused = true
      this.sink.refusal(choice.index, escape(refusal))
    }
    const signature = delta["extra_content"] === undefined ? null : thoughtSignature(delta["extra_content"])
    if (signature !== null && choice.newest === "text") this.sink.signature(choice.index, signature)
    if (delta["annotations"]) for (const annotation of readAnnotations(delta["annotations"])) this.sink.annotation(choice.index, annotation)
    if (delta["images"]) {
      for (const image of imagesOf(delta)) {
        choice.begun = true
        choice.think.flush(choice)
        this.sink.media(choice.index, image)
      }
    }
    if (delta["tool_calls"] || delta["function_call"]) for (const call of callsOf(delta)) this.call(choice, call)
  }

  /** A part that is no content begins or continues. */
  private other(choice: Choice, newest: Choice["newest"]): void {
    choice.begun = true
    if (!choice.think.isOff) choice.think.flush(choice)
    choice.newest = newest
  }

  private reason(choice: Choice, text: string, summary: boolean): void {
    choice.begun = true
    choice.think.switchOff()
    choice.reasoning(text, summary)
  }

  private reasoning(choice: Choice, delta: Frame): void {
    const plain = plainReasoning(delta)
    const given = Array.isArray(delta["reasoning_details"]) ? delta["reasoning_details"].filter(Json.isRecord) : []
    const details = given.length === 0 ? given : withoutCalls(given, delta)
    if (plain !== "") {
      choice.plain = true
      this.reason(choice, plain, details.some((detail) => detail["type"] === "reasoning.summary"))
    }
    for (const detail of details) this.detail(choice, detail)
  }

  private detail(choice: Choice, detail: Frame): void {
    const type = detail["type"]
    const index = detail["index"]
    if (type === "reasoning.encrypted") {
      const signature = openSignature(stringAt(detail, "data"))
      if (signature === null) return
      // The encrypted item of the summary that was just given.
      if (choice.newest === "reasoning" && !choice.signed && choice.detailIndex !== null && choice.detailIndex === index) this.sign(choice, signature)
      else {
        this.other(choice, "none")
        this.sink.hiddenReasoning(choice.index, signature, stringAt(detail, "id") || null)
      }
      return
    }
    const summary = type === "reasoning.summary"
    if (!summary && type !== "reasoning.text") return
    const text = stringAt(detail, summary ? "summary" : "text")
    if (text !== "" && !choice.plain) {
      if (choice.newest === "reasoning" && choice.detailIndex !== index) choice.signed = true
      this.reason(choice, text, summary)
    }
    choice.detailIndex = summary && typeof index === "number" ? index : null
    const signature = openSignature(stringAt(detail, "signature"))
    if (signature === null) return
    if (choice.newest === "reasoning" && !choice.signed) this.sign(choice, signature)
    else {
      this.other(choice, "none")
      this.sink.hiddenReasoning(choice.index, signature, null)
    }
  }

  private sign(choice: Choice, signature: NonNullable<ReturnType<typeof openSignature>>): void {
    choice.signed = true
    this.sink.signature(choice.index, signature)
  }

  private audio(choice: Choice, audio: Frame): void {
    const transcript = stringAt(audio, "transcript")
    if (transcript !== "") {
      choice.begun = true
      choice.think.switchOff()
      choice.text(transcript)
    }
    const data = stringAt(audio, "data")
    if (data !== "") (choice.audio ??= []).push(Buffer.from(this.sink.long?.restore(data) ?? data, "base64"))
  }

  // ---- tool calls ----------------------------------------------------------------------------------------------------------------

  private call(choice: Choice, said: SaidCall): void {
    this.other(choice, "call")
    let call = openCall(choice, said)
    if (call === undefined) {
      call = { index: said.index, id: "", custom: said.custom, at: -1, pending: "", signature: said.extra }
      choice.calls.set(said.index, call)
      choice.newestCall = call
    }
    if (call.at === -1) {
      if (call.id === "") identify(choice, call, said.id)
      call.signature ??= said.extra
      call.pending += said.arguments
      if (said.name === "") return
      call.at = choice.started++
      if (call.id === "") identify(choice, call, makeCallId(this.id, choice.index, call.at))
      this.sink.toolCall(choice.index, call.at, call.id, said.name, call.custom || said.custom, thoughtSignature(call.signature))
      if (call.pending !== "") this.sink.toolArguments(choice.index, call.at, escape(call.pending))
      call.pending = ""
    } else if (said.arguments !== "") this.sink.toolArguments(choice.index, call.at, escape(said.arguments))
  }

  private finish(choice: Choice, reason: string, stopSequence: string | null): void {
    choice.think.flush(choice)
    choice.finished = true
    const { index } = choice
    if (choice.audio !== null) {
      this.sink.media(index, media("audio", { kind: "base64", mediaType: "audio/pcm", data: Buffer.concat(choice.audio).toString("base64") }))
      choice.audio = null
    }
    const finish = readFinish(reason, choice.started > 0, choice.refused)
    if (finish === "stop" && stopSequence !== null) this.sink.finish(index, "stop-sequence", stopSequence)
    else this.sink.finish(index, finish, null)
  }

  // ---- shapes --------------------------------------------------------------------------------------------------------------------

  /** A frame that said one text and nothing else will come again. */
  private learn(choice: Choice, said: Frame, delta: Frame, text: string): void {
    const key = onlyKey(delta)
    if (key === null || Json.recordAt(said, "delta") === null) return
    const value = delta[key]
    if (key === "tool_calls") {
      const call = (value as ReadonlyArray<unknown>)[0]
      const piece = callsOf(delta)[0]
      const open = piece === undefined ? undefined : openCall(choice, piece)
      if (!Json.isRecord(call) || piece === undefined || open === undefined || open.at === -1 || piece.arguments === "" || piece.name !== "" || piece.id !== "" || piece.index === -1) return
      const meaning: Meaning = { kind: "arguments", choice, call: open.at }
      this.shapes.learn(text, piece.custom ? "input" : "arguments", piece.arguments, argumentsOfFrame, meaning)
    } else if (typeof value === "string" && key !== "refusal") {
      const kind = key === "content" ? "text" : "reasoning"
      this.shapes.learn(text, key, value, (frame) => deltaOfFrame(frame)?.[key], { kind, choice, call: -1 })
    }
  }
}

const identify = (choice: Choice, call: OpenCall, id: string): void => {
  call.id = id
  if (id !== "" && !choice.callsById.has(id)) choice.callsById.set(id, call)
}

/** The call that a piece belongs to, undefined for a new one. */
const openCall = (choice: Choice, said: SaidCall): OpenCall | undefined => {
  if (said.index === -1) {
    if (said.id !== "") return choice.callsById.get(said.id)
    return said.name === "" ? choice.newestCall ?? undefined : undefined
  }
  const call = choice.calls.get(said.index)
  // Some servers give every whole call the index 0.
  return call !== undefined && said.id !== "" && call.id !== "" && said.id !== call.id && said.name !== "" ? undefined : call
}
