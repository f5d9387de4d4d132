/**
 * Writes a chat-completions stream: a role chunk per choice, deltas, one chunk with the finish reason, the
 * usage chunk when the client asked for it, `[DONE]`.
 *
 * Every chunk but the rare ones is a cached prefix, the literal and a cached suffix.
 */
import type { Annotation, FinishReason, MediaPart, Signature, TokenLogprob, TokenUsage } from "#schemas/wire/conversation.ts"
import { writeAnnotation } from "#src/wire/chatCompletions/annotations.ts"
import { idOf, writeAudio, writeImage, writeLogprobs, writeUsage } from "#src/wire/chatCompletions/encodeAnswer.ts"
import { errorFrames } from "#src/wire/chatCompletions/errors.ts"
import * as Functions from "#src/wire/chatCompletions/functions.ts"
import { callDetail, extraContent, formatOf, sealed } from "#src/wire/chatCompletions/reasoning.ts"
import type { ClientError } from "#src/wire/errorObject.ts"
import * as ServiceTier from "#src/wire/neutral/serviceTier.ts"
import { unescape } from "#src/wire/stream/literal.ts"
import type { EncoderOptions, Literal, StreamEncoder, StreamHead } from "#src/wire/stream/StreamSink.ts"

type Newest = "none" | "text" | "refusal" | "reasoning" | "call"

/** What follows the arguments of a call, and of one in the first form. */
const callEnd = '"}}]}'
const functionEnd = '"}}'

/** One choice being written. */
class Choice {
  readonly textPrefix: string
  readonly reasoningPrefix: string
  readonly deltaPrefix: string
  newest: Newest = "none"
  /** The newest part was ended: more of its kind is another part. */
  closed = false
  /** Index of the reasoning part being written, and its text: a signature is sent with the whole text it signs. */
  reasoningIndex = -1
  reasoningText = ""
  summary = false
  signed = false
  refused = false
  images = 0
  finished = false
  /** Number of the newest call; its pieces share a prefix. */
  call = -1
  callPrefix = ""
  callEnd: string = callEnd
  /** Number of the call that is written as `function_call`; -1 while none is. */
  functionCall = -1
  callIsCustom = false
  /** The newest call has no argument yet. */
  callIsBare = false

  constructor(head: string, index: number) {
    this.deltaPrefix = `${head}{"index":${index},"delta":`
    this.textPrefix = `${this.deltaPrefix}{"content":"`
    this.reasoningPrefix = `${this.deltaPrefix}{"reasoning_content":"`
  }
}

export class ChatEncoder implements StreamEncoder {
  private readonly options: EncoderOptions
  private out = ""
  private head = ""
  /** What follows the last choice of a chunk. */
  private readonly tail: string
  private readonly deltaEnd: string
  private readonly literalEnd: string
  private readonly choices: Array<Choice | undefined> = []
  /** Custom calls by choice and number; functions are the rule. */
  private customs: Set<string> | null = null
  private usage: TokenUsage | null = null
  private ended = false

  constructor(options: EncoderOptions) {
    this.options = options
    // A vendor that was asked for usage says null on every chunk but the last.
    this.tail = options.includeUsage ? '],"usage":null}\n\n' : "]}\n\n"
    this.deltaEnd = `,"logprobs":null,"finish_reason":null}${this.tail}`
    this.literalEnd = `"}${this.deltaEnd}`
  }

  take(): string {
    const text = this.out
    this.out = ""
    return text
  }

  start(head: StreamHead): void {
    if (this.head !== "") return
    const { options } = this
    const tier = ServiceTier.commonWord(head.serviceTier)
    const fields = {
      id: idOf(head.id, options),
      object: "chat.completion.chunk",
      created: head.createdAt ?? options.now(),
      model: head.model ?? options.model,
      ...(tier === null ? {} : { service_tier: tier }),
      ...(head.systemFingerprint === null ? {} : { system_fingerprint: head.systemFingerprint })
    }
    this.head = `data: ${JSON.stringify(fields).slice(0, -1)},"choices":[`
  }

  text(choice: number, literal: Literal): void {
    if (this.ended) return
    const at = this.choices[choice]
    if (at === undefined || at.newest !== "text") this.become(choice, "text")
    this.out += (this.choices[choice] as Choice).textPrefix + literal + this.literalEnd
  }

  refusal(choice: number, literal: Literal): void {
    if (this.ended) return
    const at = this.become(choice, "refusal")
    at.refused = true
    this.out += `${at.deltaPrefix}{"refusal":"${literal}${this.literalEnd}`
  }

  reasoning(choice: number, literal: Literal, summary: boolean): void {
    if (this.ended) return
    let at = this.choices[choice]
    if (at === undefined || at.newest !== "reasoning" || at.closed || at.summary !== summary) {
      // Two thoughts in a row would run together in the plain field; the sections of one summary stay one part.
      const again = at !== undefined && at.newest === "reasoning" && !at.signed && at.reasoningText !== ""
      const isSameSummary = again && summary && at?.summary === true
      at = this.become(choice, "reasoning")
      if (again) this.out += `${at.reasoningPrefix}\\n\\n${this.literalEnd}`
      if (isSameSummary) at.reasoningText += "\\n\\n"
      else this.beginReasoning(at, summary)
      at.closed = false
    }
    at.reasoningText += literal
    this.out += at.reasoningPrefix + literal + this.literalEnd
  }

  signature(choice: number, signature: Signature): void {
    if (this.ended) return
    const at = this.at(choice)
    if (at.newest !== "reasoning" && at.newest !== "none") {
      this.delta(at, { extra_content: extraContent(signature) })
      return
    }
    if (at.newest === "none") {
      this.hiddenReasoning(choice, signature, null)
      return
    }
    const value = sealed(signature)
    // Another signature of the same thought: details of one index are joined, and its text was said.
    const text = at.signed ? "" : unescape(at.reasoningText)
    const index = at.reasoningIndex
    const format = formatOf(signature)
    this.delta(at, {
      reasoning_details: at.summary
        ? [{ type: "reasoning.summary", summary: text, ...format, index }, { type: "reasoning.encrypted", data: value, ...format, index }]
        : [{ type: "reasoning.text", text, signature: value, ...format, index }]
    })
    at.closed = true
    at.signed = true
  }

  hiddenReasoning(choice: number, signature: Signature, id: string | null): void {
    if (this.ended) return
    const at = this.become(choice, "reasoning")
    this.beginReasoning(at, false)
    at.closed = true
    this.delta(at, { reasoning_details: [{ type: "reasoning.encrypted", data: sealed(signature), ...(id === null ? {} : { id }), ...formatOf(signature), index: at.reasoningIndex }] })
  }

  toolCall(choice: number, index: number, id: string, name: string, custom: boolean, signature: Signature | null): void {
    if (this.ended) return
    const at = this.become(choice, "call")
    at.call = index
    at.callIsCustom = custom
    at.callIsBare = true
    if (at.functionCall === -1 && Functions.areUsed(this.options.request)) at.functionCall = index
    at.callPrefix = callPrefix(at, index, custom)
    at.callEnd = index === at.functionCall ? functionEnd : callEnd
    if (index === at.functionCall) {
      this.delta(at, { function_call: { name, arguments: "" } })
      return
    }
    if (custom) (this.customs ??= new Set()).add(`${choice} ${index}`)
    this.delta(at, {
      tool_calls: [{
        index,
        id,
        ...(custom ? { type: "custom", custom: { name, input: "" } } : { type: "function", function: { name, arguments: "" } }),
        ...(signature === null ? {} : { extra_content: extraContent(signature) })
      }],
      ...(signature === null ? {} : { reasoning_details: [callDetail(id, signature, ++at.reasoningIndex)] })
    })
  }

  toolArguments(choice: number, index: number, literal: Literal): void {
    if (this.ended || literal === "") return
    const at = this.at(choice)
    if (at.call === index) {
      at.callIsBare = false
      this.out += `${at.callPrefix}${literal}${at.callEnd}${this.deltaEnd}`
    } else {
      const prefix = callPrefix(at, index, this.customs?.has(`${choice} ${index}`) === true)
      this.out += `${prefix}${literal}${index === at.functionCall ? functionEnd : callEnd}${this.deltaEnd}`
    }
  }

  partEnd(choice: number): void {
    const at = this.choices[choice]
    if (this.ended || at === undefined) return
    this.completeCall(at)
    at.closed = true
  }

  annotation(choice: number, annotation: Annotation): void {
    if (this.ended) return
    const written = writeAnnotation(annotation)
    if (written !== null) this.delta(this.at(choice), { annotations: [written] })
  }

  logprobs(choice: number, entries: ReadonlyArray<TokenLogprob>): void {
    if (this.ended) return
    this.out += `${this.at(choice).deltaPrefix}{},"logprobs":${JSON.stringify(writeLogprobs(entries))},"finish_reason":null}${this.tail}`
  }

  media(choice: number, part: MediaPart): void {
    if (this.ended) return
    const at = this.at(choice)
    const image = part.kind === "image" ? writeImage(part) : null
    if (image !== null) this.delta(at, { images: [{ ...image, index: at.images++ }] })
    const audio = part.kind === "audio" ? writeAudio(part, this.options) : null
    if (audio !== null) this.delta(at, { audio })
  }

  finish(choice: number, reason: FinishReason, _stopSequence: string | null): void {
    if (this.ended) return
    const at = this.at(choice)
    if (at.finished) return
    this.completeCall(at)
    at.finished = true
    this.out += `${at.deltaPrefix}{},"logprobs":null,"finish_reason":"${Functions.finishOf(reason, at.refused, at.functionCall !== -1)}"}${this.tail}`
  }

  tokens(usage: TokenUsage): void {
    this.usage = usage
  }

  /** The sink's word for an upstream error; the frames follow from `fail`. */
  failed(): void {}

  done(): void {
    if (this.ended) return
    if (this.options.includeUsage && this.usage !== null) {
      this.begin()
      this.out += `${this.head}],"usage":${JSON.stringify(writeUsage(this.usage))}}\n\n`
    }
    this.out += "data: [DONE]\n\n"
    this.ended = true
  }

  fail(error: ClientError): string {
    if (this.ended) return this.take()
    this.ended = true
    return this.take() + errorFrames(error)
  }

  private begin(): void {
    if (this.head === "") this.start(emptyHead)
  }

  /** The choice, begun with its role chunk. */
  private at(choice: number, content = '""'): Choice {
    const known = this.choices[choice]
    if (known !== undefined) return known
    this.begin()
    const at = new Choice(this.head, choice)
    this.choices[choice] = at
    this.out += `${at.deltaPrefix}{"role":"assistant","content":${content},"refusal":null}${this.deltaEnd}`
    return at
  }

  private beginReasoning(at: Choice, summary: boolean): void {
    at.reasoningIndex++
    at.reasoningText = ""
    at.summary = summary
    at.signed = false
  }

  /** A part of this kind is the newest from now on. */
  private become(choice: number, kind: Newest): Choice {
    const at = this.at(choice, kind === "call" ? "null" : '""')
    this.completeCall(at)
    at.newest = kind
    return at
  }

  /** A call without arguments has none to parse, yet clients parse them. */
  private completeCall(at: Choice): void {
    if (at.newest !== "call" || !at.callIsBare) return
    at.callIsBare = false
    if (!at.callIsCustom) this.out += `${at.callPrefix}{}${at.callEnd}${this.deltaEnd}`
  }

  private delta(at: Choice, delta: unknown): void {
    this.out += `${at.deltaPrefix}${JSON.stringify(delta)}${this.deltaEnd}`
  }
}

const emptyHead: StreamHead = { id: null, model: null, createdAt: null, serviceTier: null, systemFingerprint: null }

const callPrefix = (at: Choice, index: number, custom: boolean): string => index === at.functionCall
  ? `${at.deltaPrefix}{"function_call":{"arguments":"`
  : `${at.deltaPrefix}{"tool_calls":[{"index":${index},${custom ? '"custom":{"input":"' : '"function":{"arguments":"'}`
