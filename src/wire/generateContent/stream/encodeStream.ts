/**
 * Writes a client's stream: one chunk per piece of text, calls whole, and at the end one chunk with every finish
 * reason and the usage. Nothing ends the stream but its end.
 */
import type { Annotation, FinishReason, MediaPart, Signature, TokenLogprob, TokenUsage } from "#schemas/wire/conversation.ts"
import type { ClientError } from "#src/wire/errorObject.ts"
import { tailOf } from "#src/wire/generateContent/answer.ts"
import { groundingText } from "#src/wire/generateContent/citations.ts"
import { argsOf } from "#src/wire/generateContent/request/encodeRequest.ts"
import { errorFrames } from "#src/wire/generateContent/errors.ts"
import { finishWord, logprobsText, usageText } from "#src/wire/generateContent/facts.ts"
import { mediumJson } from "#src/wire/generateContent/request/media.ts"
import { seal } from "#src/wire/signatures.ts"
import { lengthOf, unescape } from "#src/wire/stream/literal.ts"
import type { EncoderOptions, Literal, StreamEncoder, StreamHead } from "#src/wire/stream/StreamSink.ts"

/** Characters of text kept per choice for the offsets of citations. */
const keptText = 1024 * 1024

interface HeldCall {
  readonly id: string
  readonly name: string
  readonly custom: boolean
  readonly signature: Signature | null
  args: Literal
}

interface Choice {
  readonly index: number
  /** What stands behind the parts of each of its chunks. */
  readonly textEnd: string
  readonly thoughtEnd: string
  readonly partsEnd: string
  newest: "text" | "reasoning" | null
  /** Calls that are not whole yet, by the sink's numbers. */
  readonly calls: Map<number, HeldCall>
  said: Literal
  /** Characters of all text so far, unescaped, and of what stood before the newest text part. */
  characters: number
  partStart: number
  annotations: Array<Annotation> | null
  logprobs: Array<TokenLogprob> | null
  finish: FinishReason | null
}

const open = 'data: {"candidates":[{"content":{"parts":['
const openText = `${open}{"text":"`

export class GenerateContentEncoder implements StreamEncoder {
  private readonly options: EncoderOptions
  private out = ""
  private closed = false
  private tail: string | null = null
  private usage: TokenUsage | null = null
  private readonly choices: Array<Choice | undefined> = []

  constructor(options: EncoderOptions) {
    this.options = options
  }

  take(): string {
    const out = this.out
    this.out = ""
    return out
  }

  start(head: StreamHead): void {
    this.tail ??= tailOf(head.model, head.id, this.options)
  }

  text(choice: number, literal: Literal): void {
    if (this.closed || literal === "") return
    const at = this.at(choice)
    if (at.newest !== "text") this.become(at, "text")
    if (at.said.length < keptText) at.said += literal
    at.characters += lengthOf(literal)
    this.out += openText + literal + at.textEnd
  }

  /** The format has no member for refusals: they are what the model said. */
  refusal(choice: number, literal: Literal): void {
    this.text(choice, literal)
  }

  reasoning(choice: number, literal: Literal, _summary: boolean): void {
    if (this.closed || literal === "") return
    const at = this.at(choice)
    if (at.newest !== "reasoning") this.become(at, "reasoning")
    this.out += openText + literal + at.thoughtEnd
  }

  signature(choice: number, signature: Signature): void {
    if (this.closed) return
    const at = this.at(choice)
    this.flush(at)
    this.write(at, `{"text":""${at.newest === "text" ? "" : ',"thought":true'},"thoughtSignature":${JSON.stringify(seal(signature, "generateContent"))}}`)
  }

  hiddenReasoning(choice: number, signature: Signature, _id: string | null): void {
    if (this.closed) return
    const at = this.at(choice)
    this.become(at, null)
    this.write(at, `{"text":"","thought":true,"thoughtSignature":${JSON.stringify(seal(signature, "generateContent"))}}`)
  }

  toolCall(choice: number, index: number, id: string, name: string, custom: boolean, signature: Signature | null): void {
    if (this.closed) return
    const at = this.at(choice)
    at.newest = null
    at.calls.set(index, { id, name, custom, signature, args: "" })
  }

  toolArguments(choice: number, index: number, literal: Literal): void {
    if (this.closed) return
    const call = this.at(choice).calls.get(index)
    if (call !== undefined) call.args += literal
  }

  partEnd(choice: number): void {
    if (!this.closed) this.become(this.at(choice), null)
  }

  annotation(choice: number, annotation: Annotation): void {
    if (this.closed) return
    const at = this.at(choice)
    const { end, start } = annotation
    ;(at.annotations ??= []).push(start === null || end === null ? annotation : { ...annotation, start: start + at.partStart, end: end + at.partStart })
  }

  logprobs(choice: number, entries: ReadonlyArray<TokenLogprob>): void {
    if (this.closed) return
    const list = this.at(choice).logprobs ??= []
    for (const entry of entries) list.push(entry)
  }

  media(choice: number, part: MediaPart): void {
    if (this.closed) return
    const at = this.at(choice)
    this.become(at, null)
    const medium = mediumJson(part)
    if (medium !== null) this.write(at, medium)
  }

  /** Held until `done`, as the usage may come later and stands in the same chunk. */
  finish(choice: number, reason: FinishReason, _stopSequence: string | null): void {
    if (this.closed) return
    const at = this.at(choice)
    this.become(at, null)
    at.finish ??= reason
  }

  tokens(usage: TokenUsage): void {
    this.usage = usage
  }

  /** The gateway decides what becomes of it and calls `fail`. */
  failed(): void {}

  done(): void {
    if (this.closed) return
    const candidates: Array<string> = []
    for (const at of this.choices) {
      if (at === undefined) continue
      this.flush(at)
      candidates.push(lastCandidate(at))
    }
    this.closed = true
    const usage = this.usage === null ? "" : `"usageMetadata":${usageText(this.usage)},`
    this.out += `data: {"candidates":[${candidates.join(",")}],${usage}${this.tailText()}}\n\n`
  }

  /** A call that was not whole yet is not sent: its arguments would be wrong. */
  fail(error: ClientError): string {
    if (this.closed) return this.take()
    this.closed = true
    return this.take() + errorFrames(error)
  }

  private tailText(): string {
    return this.tail ??= tailOf(null, null, this.options)
  }

  private at(index: number): Choice {
    let at = this.choices[index]
    if (at === undefined) {
      const partsEnd = `],"role":"model"},"index":${index}}],${this.tailText()}}\n\n`
      at = {
        index, partsEnd, textEnd: `"}${partsEnd}`, thoughtEnd: `","thought":true}${partsEnd}`, newest: null, calls: new Map(), said: "", characters: 0, partStart: 0,
        annotations: null, logprobs: null, finish: null
      }
      this.choices[index] = at
    }
    return at
  }

  private write(at: Choice, part: string): void {
    this.out += open + part + at.partsEnd
  }

  private become(at: Choice, kind: "text" | "reasoning" | null): void {
    this.flush(at)
    if (kind === "text") at.partStart = at.characters
    at.newest = kind
  }

  /** Writes the calls that are held: they are whole now. */
  private flush(at: Choice): void {
    if (at.calls.size === 0) return
    const texts = [...at.calls.values()].map(callText)
    at.calls.clear()
    this.write(at, texts.join(","))
  }
}

const callText = (call: HeldCall): string => {
  const signature = call.signature === null ? "" : `,"thoughtSignature":${JSON.stringify(seal(call.signature, "generateContent"))}`
  const args = argsOf({ arguments: unescape(call.args), custom: call.custom })
  return `{"functionCall":{"id":${JSON.stringify(call.id)},"name":${JSON.stringify(call.name)},"args":${args}}${signature}}`
}

const lastCandidate = (at: Choice): string => {
  const members = ['"content":{"parts":[{"text":""}],"role":"model"}']
  if (at.finish !== null) members.push(`"finishReason":"${finishWord(at.finish)}"`)
  members.push(`"index":${at.index}`)
  if (at.annotations !== null) members.push(groundingText(at.annotations, unescape(at.said)))
  if (at.logprobs !== null) members.push(logprobsText(at.logprobs))
  return `{${members.join(",")}}`
}
