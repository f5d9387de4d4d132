/**
 * Gives the calls of a stream back the names that the client knows, and the calls of its free text tools their text: the target was
 * given a function in their place. Free text has no end of its own, so a call that begins inside another one waits until that is whole.
 */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { Annotation, FinishReason, MediaPart, Signature, TokenLogprob, TokenUsage } from "#schemas/wire/conversation.ts"
import type { Restored } from "#src/wire/neutral/ToolNames.ts"
import { FreeText } from "#src/wire/stream/FreeText.ts"
import type { LongStrings } from "#src/wire/json/LongStrings.ts"
import type { Literal, StreamHead, StreamSink } from "#src/wire/stream/StreamSink.ts"

interface ToolCallState {
  readonly choice: number
  readonly index: number
  readonly id: string
  readonly name: string
  readonly custom: boolean
  readonly signature: Signature | null
  /** Null when the arguments are what the client gets. */
  readonly text: FreeText | null
  /** Arguments that came while it waited. */
  held: Array<Literal>
}

export class RestoringSink implements StreamSink {
  private readonly sink: StreamSink
  private readonly restored: Restored
  /** The call of free text that is not whole yet. */
  private open: ToolCallState | null = null
  private waiting: Array<ToolCallState> = []

  constructor(sink: StreamSink, restored: Restored) {
    this.sink = sink
    this.restored = restored
  }

  get long(): LongStrings | undefined {
    return this.sink.long
  }

  toolCall(choice: number, index: number, id: string, name: string, custom: boolean, signature: Signature | null): void {
    const meant = custom ? undefined : this.restored.get(name)
    const isFree = meant?.custom === true
    const call: ToolCallState = { choice, index, id, name: meant?.name ?? name, custom: custom || isFree, signature, text: isFree ? new FreeText() : null, held: [] }
    if (this.open !== null) this.waiting.push(call)
    else this.begin(call)
  }

  toolArguments(choice: number, index: number, literal: Literal): void {
    const { open } = this
    if (open === null) return this.sink.toolArguments(choice, index, literal)
    if (open.index === index && open.choice === choice) {
      this.say(open, literal)
      if (open.text?.isWhole === true) this.next()
      return
    }
    const waiting = this.waiting.find((one) => one.index === index && one.choice === choice)
    if (waiting === undefined) this.sink.toolArguments(choice, index, literal)
    else waiting.held.push(literal)
  }

  start(head: StreamHead): void {
    this.sink.start(head)
  }

  text(choice: number, literal: Literal): void {
    this.settle()
    this.sink.text(choice, literal)
  }

  refusal(choice: number, literal: Literal): void {
    this.settle()
    this.sink.refusal(choice, literal)
  }

  reasoning(choice: number, literal: Literal, summary: boolean): void {
    this.settle()
    this.sink.reasoning(choice, literal, summary)
  }

  signature(choice: number, signature: Signature): void {
    this.settle()
    this.sink.signature(choice, signature)
  }

  hiddenReasoning(choice: number, signature: Signature, id: string | null): void {
    this.settle()
    this.sink.hiddenReasoning(choice, signature, id)
  }

  partEnd(choice: number): void {
    this.settle()
    this.sink.partEnd(choice)
  }

  annotation(choice: number, annotation: Annotation): void {
    this.sink.annotation(choice, annotation)
  }

  logprobs(choice: number, entries: ReadonlyArray<TokenLogprob>): void {
    this.sink.logprobs(choice, entries)
  }

  media(choice: number, part: MediaPart): void {
    this.settle()
    this.sink.media(choice, part)
  }

  finish(choice: number, reason: FinishReason, stopSequence: string | null): void {
    this.settle()
    this.sink.finish(choice, reason, stopSequence)
  }

  tokens(usage: TokenUsage, partial?: boolean): void {
    this.sink.tokens(usage, partial)
  }

  failed(body: UpstreamErrorBody): void {
    this.sink.failed(body)
  }

  done(): void {
    this.settle()
    this.sink.done()
  }

  /** Something else follows: what waits is whole. */
  private settle(): void {
    while (this.open !== null) this.next()
  }

  /** The open call is over; those behind it begin, up to one that is not whole. */
  private next(): void {
    const { open } = this
    if (open === null) return
    this.open = null
    this.speak(open, open.text?.end() ?? "")
    while (this.open === null) {
      const call = this.waiting.shift()
      if (call === undefined) return
      this.begin(call)
    }
  }

  private begin(call: ToolCallState): void {
    this.sink.toolCall(call.choice, call.index, call.id, call.name, call.custom, call.signature)
    if (call.text !== null) this.open = call
    const { held } = call
    call.held = []
    for (const literal of held) this.say(call, literal)
    if (call.text?.isWhole === true) this.open = null
  }

  private say(call: ToolCallState, literal: Literal): void {
    this.speak(call, call.text === null ? literal : call.text.push(literal))
  }

  private speak(call: ToolCallState, literal: Literal): void {
    if (literal !== "") this.sink.toolArguments(call.choice, call.index, literal)
  }
}
