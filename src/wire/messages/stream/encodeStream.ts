/** Writes a Messages stream: blocks one after another, then message_delta and message_stop; never a word after the last. */
import type { Annotation, FinishReason, MediaPart, Signature, TokenUsage } from "#schemas/wire/conversation.ts"
import type { ClientError } from "#src/wire/errorObject.ts"
import { JsonEnd } from "#src/wire/json/JsonEnd.ts"
import * as Carriers from "#src/wire/messages/carriers.ts"
import { citationOf } from "#src/wire/messages/citations.ts"
import { mediaBlock, messageId, reasoningBlock } from "#src/wire/messages/encodeAnswer.ts"
import { errorFrames } from "#src/wire/messages/errors.ts"
import { stopReasonOf, wireUsage } from "#src/wire/messages/usage.ts"
import * as ServiceTier from "#src/wire/neutral/serviceTier.ts"
import * as Signatures from "#src/wire/signatures.ts"
import { escape } from "#src/wire/stream/literal.ts"
import type { EncoderOptions, Literal, StreamEncoder, StreamHead } from "#src/wire/stream/StreamSink.ts"

type Open = "none" | "text" | "refusal" | "thinking" | "tool"

interface ToolCallState {
  readonly index: number
  readonly id: string
  readonly name: string
  readonly custom: boolean
  readonly signature: Signature | null
  /** Argument literals so far: kept to see whether the call is complete when another begins. */
  literals: string
  readonly end: JsonEnd
}

const nothingUsed: TokenUsage = { input: 0, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }
const deltaEnd = '"}}\n\n'

/** Free text of a custom tool travels as `{"input": "..."}`, because calls have JSON arguments here. */
const customStart = escape('{"input":"')
const customEnd = escape('"}')

export class MessagesEncoder implements StreamEncoder {
  private readonly options: EncoderOptions
  private out = ""
  /** Held until something else happens, so that usage that comes with it gets into message_start. */
  private head: StreamHead | null = null
  private usage: TokenUsage | null = null
  private over = false
  private index = -1
  private open: Open = "none"
  /** The open text or thinking block has ended; it stays open for a signature or citation that belongs to it. */
  private ended = false
  /** The open thinking block has its signature. */
  private signed = false
  /** Frame of the open block's delta up to its text. */
  private prefix = ""
  private textSignature: Signature | null = null
  private call: ToolCallState | null = null
  /** Calls that began before the open one was complete, by the sink's numbers: blocks must not overlap. */
  private readonly waiting = new Map<number, ToolCallState>()
  private sawCall = false
  private sawRefusal = false
  private reason: FinishReason | null = null
  private stopSequence: string | null = null

  constructor(options: EncoderOptions) {
    this.options = options
  }

  start(head: StreamHead): void {
    if (!this.over) this.head = head
  }

  text(choice: number, literal: Literal): void {
    if (choice !== 0 || this.over) return
    if (this.open !== "text" || this.ended) this.startDelta("text", '{"type":"text","text":""}', '"text_delta","text":"')
    this.out += this.prefix + literal + deltaEnd
  }

  refusal(choice: number, literal: Literal): void {
    if (choice !== 0 || this.over) return
    this.sawRefusal = true
    if (this.open !== "refusal" || this.ended) this.startDelta("refusal", '{"type":"text","text":""}', '"text_delta","text":"')
    this.out += this.prefix + literal + deltaEnd
  }

  reasoning(choice: number, literal: Literal, _summary: boolean): void {
    if (choice !== 0 || this.over) return
    if (this.open !== "thinking" || this.ended) this.startDelta("thinking", '{"type":"thinking","thinking":"","signature":""}', '"thinking_delta","thinking":"')
    this.out += this.prefix + literal + deltaEnd
  }

  signature(choice: number, signature: Signature): void {
    if (choice !== 0 || this.over) return
    if (this.open === "thinking") {
      this.signed = true
      this.delta("signature_delta", "signature", Signatures.seal(signature, "messages"))
    } else if (this.open === "text") this.textSignature = signature
  }

  hiddenReasoning(choice: number, signature: Signature, _id: string | null): void {
    if (choice !== 0 || this.over) return
    this.closeAll()
    const block = reasoningBlock({ text: "", signature })
    if ("data" in block) this.wholeBlock(JSON.stringify(block))
    else this.carrier((block as { readonly signature: string }).signature)
  }

  toolCall(choice: number, index: number, id: string, name: string, custom: boolean, signature: Signature | null): void {
    if (choice !== 0 || this.over) return
    this.sawCall = true
    const call: ToolCallState = { index, id, name, custom, signature, literals: "", end: new JsonEnd() }
    if (this.call !== null && (this.waiting.size > 0 || !isComplete(this.call))) this.waiting.set(index, call)
    else this.openCall(call)
  }

  toolArguments(choice: number, index: number, literal: Literal): void {
    if (choice !== 0 || this.over || literal === "") return
    const { call } = this
    if (call === null) return
    if (call.index === index) return this.writeArguments(call, literal)
    const waiting = this.waiting.get(index)
    if (waiting === undefined) return
    waiting.literals += literal
    // The open call may have become complete since this one began.
    if (this.waiting.values().next().value === waiting && isComplete(call)) {
      this.waiting.delete(index)
      this.openCall(waiting)
    }
  }

  partEnd(choice: number): void {
    if (choice !== 0 || this.over) return
    if (this.open === "none") return
    if (this.open !== "tool") this.ended = true
    else if (this.waiting.size === 0) this.close()
  }

  annotation(choice: number, annotation: Annotation): void {
    if (choice !== 0 || this.over) return
    const citation = citationOf(annotation)
    if (citation === null) return
    if (this.open !== "text") this.startDelta("text", '{"type":"text","text":""}', '"text_delta","text":"')
    this.write("content_block_delta", `"index":${this.index},"delta":{"type":"citations_delta","citation":${JSON.stringify(citation)}}`)
  }

  /** Not of this format; a request for them was refused. */
  logprobs(): void {}

  media(choice: number, part: MediaPart): void {
    if (choice !== 0 || this.over || (part.kind !== "image" && part.kind !== "document")) return
    const block = mediaBlock(part)
    if (block === null) return
    this.closeAll()
    this.wholeBlock(JSON.stringify(block))
  }

  finish(choice: number, reason: FinishReason, stopSequence: string | null): void {
    if (choice !== 0 || this.over) return
    if (this.open === "tool") this.closeAll()
    this.reason = reason
    this.stopSequence = stopSequence
  }

  tokens(usage: TokenUsage): void {
    this.usage = usage
  }

  /** The upstream's error; the caller ends the stream with `fail`. */
  failed(): void {}

  done(): void {
    if (this.over) return
    this.closeAll()
    this.writeHead()
    const reason = this.reason === "stop" && this.sawRefusal ? "refusal" : stopReasonOf(this.reason, this.sawCall)
    this.write(
      "message_delta",
      `"delta":${JSON.stringify({ stop_reason: reason, stop_sequence: this.stopSequence })},"usage":${JSON.stringify(wireUsage(this.usage ?? nothingUsed))}`
    )
    this.out += 'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    this.over = true
  }

  take(): string {
    if (this.head !== null && !this.over) this.writeHead()
    const { out } = this
    this.out = ""
    return out
  }

  fail(error: ClientError): string {
    if (this.over) return this.take()
    if (this.open !== "none") this.stop()
    const written = this.take()
    this.over = true
    return written + errorFrames(error)
  }

  // ---- blocks --------------------------------------------------------------------------------------------------------------------

  private write(type: string, members: string): void {
    this.out += `event: ${type}\ndata: {"type":"${type}",${members}}\n\n`
  }

  private writeHead(): void {
    const { head } = this
    if (head === null) return
    this.head = null
    const tier = ServiceTier.messagesWord(head.serviceTier)
    const usage = {
      ...wireUsage(this.usage ?? nothingUsed),
      ...(tier === null ? {} : { service_tier: tier })
    }
    this.write("message_start", `"message":${JSON.stringify({
      id: messageId(head.id, this.options.makeId), type: "message", role: "assistant", model: head.model ?? this.options.model, content: [],
      stop_reason: null, stop_sequence: null, usage
    })}`)
  }

  private begin(block: string): void {
    this.writeHead()
    this.index++
    this.write("content_block_start", `"index":${this.index},"content_block":${block}`)
  }

  private startDelta(open: Open, block: string, delta: string): void {
    this.closeAll()
    this.begin(block)
    this.open = open
    this.prefix = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.index},"delta":{"type":${delta}`
  }

  private delta(type: string, key: string, value: string): void {
    this.write("content_block_delta", `"index":${this.index},"delta":{"type":"${type}","${key}":${JSON.stringify(value)}}`)
  }

  private wholeBlock(block: string): void {
    this.begin(block)
    this.stop()
  }

  /** A thinking block without text that carries a signature. */
  private carrier(field: string): void {
    this.begin('{"type":"thinking","thinking":"","signature":""}')
    this.delta("signature_delta", "signature", field)
    this.stop()
  }

  private stop(): void {
    // A client gives thoughts back as they are; without a mark they would pass for the vendor's own.
    if (this.open === "thinking" && !this.signed) this.delta("signature_delta", "signature", Signatures.unsigned)
    this.signed = false
    this.write("content_block_stop", `"index":${this.index}`)
    this.open = "none"
    this.ended = false
  }

  private close(): void {
    if (this.open === "none") return
    if (this.call?.custom === true) this.out += this.prefix + customEnd + deltaEnd
    this.call = null
    this.stop()
    if (this.textSignature === null) return
    const signature = this.textSignature
    this.textSignature = null
    this.carrier(Carriers.carry(signature, "text"))
  }

  /** Closes the open block and writes the calls that waited for it. */
  private closeAll(): void {
    this.close()
    for (const [index, next] of this.waiting) {
      this.waiting.delete(index)
      this.openCall(next)
      this.close()
    }
  }

  private openCall(call: ToolCallState): void {
    this.close()
    if (call.signature !== null) this.carrier(Carriers.carry(call.signature, "call"))
    this.begin(`${JSON.stringify({ type: "tool_use", id: call.id, name: call.name }).slice(0, -1)},"input":{}}`)
    this.open = "tool"
    this.call = call
    this.prefix = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.index},"delta":{"type":"input_json_delta","partial_json":"`
    if (call.custom) this.out += this.prefix + customStart + deltaEnd
    if (call.literals === "") return
    const held = call.literals
    call.literals = ""
    this.writeArguments(call, held)
  }

  private writeArguments(call: ToolCallState, literal: Literal): void {
    call.literals += literal
    if (!call.custom) call.end.push(literal)
    this.out += this.prefix + (call.custom ? escape(literal) : literal) + deltaEnd
  }
}

/** The arguments so far are a whole JSON object; free text never says when it is whole. */
const isComplete = (call: ToolCallState): boolean => call.custom ? call.literals !== "" : call.end.isReached(call.literals)
