/** Collects a neutral stream into a whole answer: for clients that did not stream, for caches and for tests. */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type {
  Annotation, Answer, FinishReason, MediaPart, ContentPart, ReasoningPart, RefusalPart, Signature, TextPart, TokenLogprob, TokenUsage, ToolCallPart
} from "#schemas/wire/conversation.ts"
import { unescape } from "#src/wire/stream/literal.ts"
import type { Literal, StreamHead, StreamSink } from "#src/wire/stream/StreamSink.ts"

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

interface OpenChoice {
  readonly parts: Array<ContentPart>
  /** Literals of the newest text, reasoning or refusal part. */
  open: "text" | "reasoning" | "refusal" | null
  /** Annotations of the newest part that has some. */
  annotated: Array<Annotation>
  literals: Array<Literal>
  readonly calls: Map<number, { readonly part: Mutable<ToolCallPart>; readonly literals: Array<Literal> }>
  finish: FinishReason | null
  stopSequence: string | null
  logprobs: Array<TokenLogprob> | null
}

export class AnswerBuilder implements StreamSink {
  failure: UpstreamErrorBody | null = null
  isDone = false
  private head: StreamHead | null = null
  private usage: TokenUsage | null = null
  private readonly choices = new Map<number, OpenChoice>()

  start(head: StreamHead): void {
    this.head ??= head
  }

  text(choice: number, literal: Literal): void {
    this.append(choice, "text", literal, false)
  }

  refusal(choice: number, literal: Literal): void {
    this.append(choice, "refusal", literal, false)
  }

  reasoning(choice: number, literal: Literal, summary: boolean): void {
    this.append(choice, "reasoning", literal, summary)
  }

  signature(choice: number, signature: Signature): void {
    const at = this.at(choice)
    this.close(at)
    const last = at.parts[at.parts.length - 1]
    if (last !== undefined && (last.kind === "reasoning" || last.kind === "text")) at.parts[at.parts.length - 1] = { ...last, signature }
  }

  hiddenReasoning(choice: number, signature: Signature, id: string | null): void {
    const at = this.at(choice)
    this.close(at)
    at.parts.push({ kind: "reasoning", text: "", summary: false, signature, id, redacted: signature.family === "messages" })
  }

  toolCall(choice: number, index: number, id: string, name: string, custom: boolean, signature: Signature | null): void {
    const at = this.at(choice)
    this.close(at)
    const part: Mutable<ToolCallPart> = { kind: "toolCall", id, name, arguments: "", custom, cache: null, signature }
    at.calls.set(index, { part, literals: [] })
    at.parts.push(part)
  }

  toolArguments(choice: number, index: number, literal: Literal): void {
    this.at(choice).calls.get(index)?.literals.push(literal)
  }

  partEnd(choice: number): void {
    this.close(this.at(choice))
  }

  annotation(choice: number, annotation: Annotation): void {
    const at = this.at(choice)
    const open = at.open === "text"
    if (open) this.flush(at)
    const last = at.parts[at.parts.length - 1]
    if (last === undefined || last.kind !== "text") return
    if (at.annotated !== last.annotations) at.parts[at.parts.length - 1] = { ...last, annotations: at.annotated = [...last.annotations] }
    at.annotated.push(annotation)
  }

  logprobs(choice: number, entries: ReadonlyArray<TokenLogprob>): void {
    const list = this.at(choice).logprobs ??= []
    for (const entry of entries) list.push(entry)
  }

  media(choice: number, part: MediaPart): void {
    const at = this.at(choice)
    this.close(at)
    at.parts.push(part)
  }

  finish(choice: number, reason: FinishReason, stopSequence: string | null): void {
    const at = this.at(choice)
    this.close(at)
    at.finish = reason
    at.stopSequence = stopSequence
  }

  tokens(usage: TokenUsage): void {
    this.usage = usage
  }

  failed(body: UpstreamErrorBody): void {
    this.failure = body
  }

  done(): void {
    this.isDone = true
  }

  answer(): Answer {
    const choices = [...this.choices].sort((a, b) => a[0] - b[0]).map(([index, at]) => {
      this.close(at)
      for (const call of at.calls.values()) call.part.arguments = unescape(call.literals.join(""))
      return { index, parts: at.parts, finish: at.finish, stopSequence: at.stopSequence, logprobs: at.logprobs }
    })
    const { head } = this
    return {
      id: head?.id ?? null, model: head?.model ?? null, createdAt: head?.createdAt ?? null, choices, usage: this.usage,
      serviceTier: head?.serviceTier ?? null, systemFingerprint: head?.systemFingerprint ?? null
    }
  }

  private at(choice: number): OpenChoice {
    let at = this.choices.get(choice)
    if (at === undefined) {
      at = { parts: [], open: null, annotated: [], literals: [], calls: new Map(), finish: null, stopSequence: null, logprobs: null }
      this.choices.set(choice, at)
    }
    return at
  }

  private append(choice: number, kind: "text" | "reasoning" | "refusal", literal: Literal, summary: boolean): void {
    const at = this.at(choice)
    if (at.open !== kind) {
      this.close(at)
      at.open = kind
      at.parts.push(kind === "text" ? emptyText : kind === "refusal" ? emptyRefusal : { ...emptyReasoning, summary })
    }
    at.literals.push(literal)
  }

  /** Writes the collected literals into the newest part; further text may still follow. */
  private flush(at: OpenChoice): void {
    if (at.literals.length === 0) return
    const last = at.parts[at.parts.length - 1]
    if (last !== undefined && (last.kind === "text" || last.kind === "reasoning" || last.kind === "refusal")) {
      at.parts[at.parts.length - 1] = { ...last, text: last.text + unescape(at.literals.join("")) }
    }
    at.literals = []
  }

  private close(at: OpenChoice): void {
    this.flush(at)
    at.open = null
  }
}

const emptyText: TextPart = { kind: "text", text: "", cache: null, annotations: [], signature: null }
const emptyRefusal: RefusalPart = { kind: "refusal", text: "" }
const emptyReasoning: ReasoningPart = { kind: "reasoning", text: "", summary: false, signature: null, id: null, redacted: false }
