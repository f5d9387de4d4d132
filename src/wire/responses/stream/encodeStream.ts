/**
 * A neutral stream as responses events: every item is added, filled and done, numbered in order; the last event
 * holds the whole response. One answer only: the format knows no choices.
 */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { Annotation, FinishReason, MediaPart, Signature, TokenLogprob, TokenUsage } from "#schemas/wire/conversation.ts"
import { commonInStream, type ClientError } from "#src/wire/errorObject.ts"
import { failedEvent } from "#src/wire/responses/errors.ts"
import { CallItem, type ItemEvents, ImageItem, MessageItem, ReasoningItem } from "#src/wire/responses/items.ts"
import { namespacesOf, qualified, type QualifiedName } from "#src/wire/responses/request/namespaces.ts"
import { callCarrier, sealed, textCarrier, unpack } from "#src/wire/responses/reasoning.ts"
import { type ResponseFrame, frameOf, incompleteOf, responseJson, type Standing } from "#src/wire/responses/responseObject.ts"
import * as ServiceTier from "#src/wire/neutral/serviceTier.ts"
import type { EncoderOptions, Literal, StreamEncoder, StreamHead } from "#src/wire/stream/StreamSink.ts"

/** What served an answer whose provider names no tier, whatever was asked for. */
const usualTier = "default"

const noHead: StreamHead = { id: null, model: null, createdAt: null, serviceTier: null, systemFingerprint: null }

export class ResponsesEncoder implements StreamEncoder, ItemEvents {
  /** The last event names all items. */
  readonly repeatsMedia = true
  private readonly options: EncoderOptions
  /** Unique part of every id of this response. */
  private readonly unique: string
  private frame: ResponseFrame | null = null
  /** What was not taken yet: all before the newest reasoning item, and the rest. */
  private earlier = ""
  private out = ""
  private sequence = 0
  /** Number of the next item. */
  private index = 0
  /** JSON texts of finished items, by number. */
  private readonly output: Array<string> = []
  /** The open message or reasoning item: it ends when something else begins, so that what belongs to it may still come. */
  private message: MessageItem | null = null
  private thought: ReasoningItem | null = null
  /** The newest message, for what comes after its end. */
  private lastMessage: MessageItem | null = null
  private readonly open = new Map<number, CallItem>()
  /** Open calls that got something since they were last looked at. */
  private readonly fresh = new Set<number>()
  private newestCall = -1
  private pendingLogprobs: Array<TokenLogprob> | null = null
  private textSignature: Signature | null = null
  private hasRefusal = false
  private finishReason: FinishReason | null = null
  private usage: TokenUsage | null = null
  private isClosed = false
  /** Counts `take`: what was not taken yet may still be changed. */
  private takes = 0
  private qualified: ReadonlyMap<string, QualifiedName> | null = null

  constructor(options: EncoderOptions) {
    this.options = options
    this.unique = options.makeId()
  }

  // ---- What items write ----------------------------------------------------------------------------------------------------------------

  /** Writes one event; `rest` are its members behind the sequence number, as JSON text that begins with a comma. */
  event(type: string, rest: string): void {
    this.out += `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.sequence++}${rest}}\n\n`
  }

  /** Writes a delta, whose beginning and end the item keeps. */
  delta(before: string, after: string, literal: Literal): void {
    this.out += `${before}${this.sequence++}${after}${literal}`
  }

  tail(text: string): void {
    this.out += text
  }

  done(): void {
    if (this.isClosed) return
    if (this.frame === null) this.start(noHead)
    const incomplete = incompleteOf(this.finishReason, this.hasRefusal)
    this.closeAll(incomplete === null ? "completed" : "incomplete")
    const status = incomplete === null ? "completed" : "incomplete"
    this.event(`response.${status}`, `,"response":${this.responseText(status, incomplete)}`)
    this.isClosed = true
  }

  take(): string {
    const text = this.earlier + this.out
    if (text !== "") {
      this.earlier = this.out = ""
      this.takes++
    }
    return text
  }

  fail(error: ClientError): string {
    if (this.isClosed) return this.take()
    this.isClosed = true
    if (this.frame === null) this.frame = this.makeFrame(noHead)
    // Nothing is closed in the stream: what was open stands in the failed response as far as it came (`filter` drops holes).
    const output = this.output.slice()
    for (const item of [this.thought, this.message, ...this.open.values()]) if (item !== null) output[item.index] = item.json("incomplete")
    const response = responseJson(this.frame, { ...this.standing("failed"), output: output.filter(() => true), error: commonInStream(error) })
    return this.take() + failedEvent(this.sequence++, response)
  }

  /** The whole response, for a client that did not stream. */
  whole(): string {
    const incomplete = incompleteOf(this.finishReason, this.hasRefusal)
    return this.responseText(incomplete === null ? "completed" : "incomplete", incomplete)
  }

  // ---- The sink ------------------------------------------------------------------------------------------------------------------------

  start(head: StreamHead): void {
    if (this.frame !== null || this.isClosed) return
    this.frame = this.makeFrame(head)
    const response = responseJson(this.frame, this.standing("in_progress"))
    this.event("response.created", `,"response":${response}`)
    this.event("response.in_progress", `,"response":${response}`)
  }

  text(choice: number, literal: Literal): void {
    if (choice !== 0 || this.isClosed) return
    const message = this.message ?? this.openMessage()
    message.text(literal, this.pendingLogprobs)
    this.pendingLogprobs = null
  }

  refusal(choice: number, literal: Literal): void {
    if (choice !== 0 || this.isClosed) return
    this.hasRefusal = true
    ;(this.message ?? this.openMessage()).refusal(literal)
  }

  reasoning(choice: number, literal: Literal, _summary: boolean): void {
    if (choice !== 0 || this.isClosed) return
    let thought = this.thought
    if (thought !== null && thought.isEnded) {
      this.closeThought()
      thought = null
    }
    thought ??= this.openThought(null)
    thought.text(literal)
  }

  signature(choice: number, signature: Signature): void {
    if (choice !== 0 || this.isClosed) return
    if (this.thought !== null) {
      this.adopt(this.thought, signature)
      this.thought.encrypted = sealed(signature)
    } else if (this.message !== null) this.textSignature = signature
  }

  hiddenReasoning(choice: number, signature: Signature, id: string | null): void {
    if (choice !== 0 || this.isClosed) return
    const own = signature.family === "responses" ? unpack(signature.value).id ?? id : null
    this.closeOthers()
    this.carry(own ?? `rs_${this.unique}_${this.index}`, signature)
  }

  toolCall(choice: number, index: number, id: string, name: string, custom: boolean, signature: Signature | null): void {
    if (choice !== 0 || this.isClosed) return
    this.closeOthers()
    if (signature !== null) this.carry(`${callCarrier}${this.unique}_${this.index}`, signature)
    this.qualified ??= qualified(namespacesOf(this.options.request["tools"]))
    const item = new CallItem(this, this.index++, id === "" ? `call_${this.options.makeId()}` : id, this.qualified.get(name) ?? { name, namespace: null }, custom)
    this.open.set(index, item)
    this.fresh.add(index)
    this.newestCall = index
  }

  toolArguments(choice: number, index: number, literal: Literal): void {
    if (choice !== 0 || this.isClosed || literal === "") return
    const call = this.open.get(index)
    if (call === undefined) return
    call.arguments(literal)
    this.fresh.add(index)
  }

  partEnd(choice: number): void {
    if (choice !== 0 || this.isClosed) return
    if (this.thought !== null) this.thought.isEnded = true
    else if (this.message !== null) this.message.isEnded = true
    else this.closeCall(this.newestCall)
  }

  annotation(choice: number, annotation: Annotation): void {
    if (choice === 0 && !this.isClosed) this.message?.annotation(annotation)
  }

  logprobs(choice: number, entries: ReadonlyArray<TokenLogprob>): void {
    if (choice !== 0 || this.isClosed || entries.length === 0) return
    const message = this.message ?? this.lastMessage
    if (message === null || !message.logprobs(entries)) {
      const pending = this.pendingLogprobs ??= []
      for (const entry of entries) pending.push(entry)
    } else if (message !== this.message) this.output[message.index] = message.json("completed")
  }

  /** A generated image is an item of its own; other media have no place in this format. */
  media(choice: number, part: MediaPart): void {
    if (choice !== 0 || this.isClosed || part.kind !== "image" || part.source.kind !== "base64") return
    this.closeOthers()
    const item = new ImageItem(this, this.index++, `ig_${this.unique}_${this.index - 1}`, part.source.mediaType, part.source.data)
    this.output[item.index] = item.json()
  }

  finish(choice: number, reason: FinishReason, _stopSequence: string | null): void {
    if (choice === 0 && !this.isClosed) this.finishReason = reason
  }

  tokens(usage: TokenUsage): void {
    this.usage = usage
  }

  failed(_body: UpstreamErrorBody): void {
    // The client gets it through `fail`.
  }

  // ---- Items ---------------------------------------------------------------------------------------------------------------------------

  private openMessage(): MessageItem {
    this.closeThought()
    this.endCalls()
    this.message = this.lastMessage = new MessageItem(this, this.index, `msg_${this.unique}_${this.index}`)
    this.index++
    return this.message
  }

  private openThought(id: string | null): ReasoningItem {
    this.closeMessage("completed")
    this.endCalls()
    this.earlier += this.out
    this.out = ""
    this.thought = new ReasoningItem(this, this.index, id ?? `rs_${this.unique}_${this.index}`, this.takes)
    this.index++
    return this.thought
  }

  /**
   * The vendor's encrypted content is worth something under its own item id alone, which comes with it at the end of the item. As
   * long as the item's events were not taken (an answer that is replayed) they are given that id.
   */
  private adopt(thought: ReasoningItem, signature: Signature): void {
    if (signature.family !== "responses" || thought.takes !== this.takes) return
    const { id } = unpack(signature.value)
    if (id === null) return
    this.out = this.out.replaceAll(`"${thought.id}"`, JSON.stringify(id))
    thought.id = id
  }

  /** A reasoning item without text that carries a signature. */
  private carry(id: string, signature: Signature): void {
    const thought = this.openThought(id)
    thought.encrypted = sealed(signature)
    this.closeThought()
  }

  private closeThought(): void {
    const { thought } = this
    if (thought === null) return
    this.thought = null
    this.output[thought.index] = thought.close()
  }

  private closeMessage(status: Status): void {
    const { message } = this
    if (message === null) return
    this.message = null
    this.output[message.index] = message.close(status)
    const signature = this.textSignature
    this.textSignature = null
    if (signature !== null) this.carry(`${textCarrier}${this.unique}_${this.index}`, signature)
  }

  private closeCall(index: number): void {
    const call = this.open.get(index)
    if (call === undefined) return
    this.open.delete(index)
    this.output[call.index] = call.close()
  }

  /** A call ends where another part begins; one whose arguments are no whole JSON yet may be an upstream that mixes its calls. */
  private endCalls(): void {
    for (const index of this.fresh) if (this.open.get(index)?.isWhole() === true) this.closeCall(index)
    this.fresh.clear()
  }

  private closeOthers(): void {
    this.closeThought()
    this.closeMessage("completed")
    this.endCalls()
  }

  private closeAll(status: Status): void {
    this.closeThought()
    if (this.pendingLogprobs !== null) this.message?.logprobs(this.pendingLogprobs)
    this.closeMessage(status)
    for (const index of this.open.keys()) this.closeCall(index)
  }

  // ---- The response --------------------------------------------------------------------------------------------------------------------

  private makeFrame(head: StreamHead): ResponseFrame {
    const { options } = this
    const id = head.id !== null && head.id.startsWith("resp_") ? head.id : `resp_${this.unique}`
    const answered = { ...head, serviceTier: ServiceTier.commonWord(head.serviceTier) ?? usualTier }
    return frameOf(id, answered, head.model ?? options.model, head.createdAt ?? options.now(), options.request)
  }

  private standing(status: Standing["status"]): Standing {
    return { status, error: null, incomplete: null, completedAt: null, output: [], usage: null }
  }

  private responseText(status: "completed" | "incomplete", incomplete: string | null): string {
    return responseJson(this.frame!, {
      status, error: null, incomplete, completedAt: status === "completed" ? this.options.now() : null, output: this.output, usage: this.usage
    })
  }
}

type Status = "completed" | "incomplete"

