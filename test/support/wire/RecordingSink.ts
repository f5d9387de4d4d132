/** A sink that writes down what it hears; adjacent text of the same kind is joined, so that pieces do not matter. */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { Annotation, FinishReason, MediaPart, Signature, TokenLogprob, TokenUsage } from "#schemas/wire/conversation.ts"
import { unescape } from "#src/wire/stream/literal.ts"
import type { Literal, StreamHead, StreamSink } from "#src/wire/stream/StreamSink.ts"

type Event = readonly [name: string, ...facts: ReadonlyArray<unknown>]

export class RecordingSink implements StreamSink {
  private readonly raw: Array<Array<unknown>> = []

  /** What happened, literals unescaped. */
  get events(): ReadonlyArray<Event> {
    return this.raw.map((event) => {
      const [name, ...facts] = event
      const text = joined.get(String(name))
      return text === undefined ? [String(name), ...facts] : [String(name), ...facts.with(text, unescape(String(facts[text])))]
    })
  }

  start(head: StreamHead): void {
    this.raw.push(["start", { id: head.id, model: head.model, createdAt: head.createdAt, serviceTier: head.serviceTier, systemFingerprint: head.systemFingerprint }])
  }
  text(choice: number, literal: Literal): void {
    this.append("text", [choice], literal)
  }
  refusal(choice: number, literal: Literal): void {
    this.append("refusal", [choice], literal)
  }
  reasoning(choice: number, literal: Literal, summary: boolean): void {
    this.append("reasoning", [choice, summary], literal)
  }
  signature(choice: number, signature: Signature): void {
    this.raw.push(["signature", choice, signature])
  }
  hiddenReasoning(choice: number, signature: Signature, id: string | null): void {
    this.raw.push(["hiddenReasoning", choice, signature, id])
  }
  toolCall(choice: number, index: number, id: string, name: string, custom: boolean, signature: Signature | null): void {
    this.raw.push(["toolCall", choice, index, id, name, custom, signature])
  }
  toolArguments(choice: number, index: number, literal: Literal): void {
    this.append("toolArguments", [choice, index], literal)
  }
  partEnd(choice: number): void {
    this.raw.push(["partEnd", choice])
  }
  annotation(choice: number, annotation: Annotation): void {
    this.raw.push(["annotation", choice, annotation])
  }
  logprobs(choice: number, entries: ReadonlyArray<TokenLogprob>): void {
    this.raw.push(["logprobs", choice, entries])
  }
  media(choice: number, part: MediaPart): void {
    this.raw.push(["media", choice, part])
  }
  finish(choice: number, reason: FinishReason, stopSequence: string | null): void {
    this.raw.push(["finish", choice, reason, stopSequence])
  }
  tokens(usage: TokenUsage): void {
    this.raw.push(["tokens", usage])
  }
  failed(body: UpstreamErrorBody): void {
    this.raw.push(["failed", body])
  }
  done(): void {
    this.raw.push(["done"])
  }

  private append(name: string, facts: ReadonlyArray<unknown>, literal: Literal): void {
    const last = this.raw[this.raw.length - 1]
    if (last !== undefined && last[0] === name && facts.every((fact, i) => last[i + 1] === fact)) {
      last[facts.length + 1] = String(last[facts.length + 1]) + literal
    } else this.raw.push([name, ...facts, literal])
  }
}

/** Where the literal stands among an event's facts. */
const joined = new Map([["text", 1], ["refusal", 1], ["reasoning", 2], ["toolArguments", 2]])
