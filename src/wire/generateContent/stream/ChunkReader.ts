/** Reads parsed answers, whole ones and the chunks of a stream, which have the same shape, into a sink. Total. */
import type { Annotation } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"
import { callIdOf, signatureOf } from "#src/wire/generateContent/request/callIds.ts"
import { GrowingText } from "#src/wire/generateContent/offsets.ts"
import { annotationsOf } from "#src/wire/generateContent/citations.ts"
import { errorOf, finishOf, isBlocked, logprobsOf, usageOf } from "#src/wire/generateContent/facts.ts"
import { ofFile, ofInline, standardBase64 } from "#src/wire/generateContent/request/media.ts"
import { escape, lengthOf } from "#src/wire/stream/literal.ts"
import type { Literal, StreamSink } from "#src/wire/stream/StreamSink.ts"

/** Characters of text kept per choice for the offsets of citations. */
const keptText = 1024 * 1024

/** More answers than any vendor gives; a wild index must not make a huge list. */
const mostChoices = 64

interface Choice {
  /** Kind of the newest part; a signature belongs to it. */
  newest: "text" | "reasoning" | "other" | null
  calls: number
  finished: boolean
  /** Citations count its bytes. */
  readonly said: GrowingText
  /** Characters of all text so far, unescaped, and of what stood before the newest text part. */
  characters: number
  partStart: number
}

export class ChunkReader {
  /** An error object came: nothing after it is read. */
  failed = false
  started = false
  private readonly sink: StreamSink
  private readonly choices: Array<Choice | undefined> = []
  private responseId = ""

  constructor(sink: StreamSink) {
    this.sink = sink
  }

  /** At least one choice ended and none is open. */
  get finished(): boolean {
    return this.choices.length > 0 && this.choices.every((choice) => choice === undefined || choice.finished)
  }

  /** One chunk or answer. */
  read(chunk: Readonly<Record<string, unknown>>): void {
    if (this.failed) return
    const error = errorOf(chunk)
    if (error !== null) {
      this.failed = true
      this.sink.failed(error)
      return
    }
    if (!this.started) this.start(chunk)
    const candidates = chunk["candidates"]
    if (Array.isArray(candidates)) {
      candidates.forEach((candidate: unknown, position) => {
        if (Json.isRecord(candidate)) this.candidate(candidate, position)
      })
    }
    if (isBlocked(chunk)) this.finish(0, "SAFETY")
    const usage = usageOf(chunk["usageMetadata"])
    if (usage !== null) this.sink.tokens(usage)
  }

  /** A piece of text of a frame that was not parsed. */
  text(index: number, literal: Literal): void {
    const choice = this.at(index)
    this.become(choice, index, "text")
    if (choice.characters < keptText) choice.said.push(literal)
    choice.characters += lengthOf(literal)
    this.sink.text(index, literal)
  }

  thought(index: number, literal: Literal): void {
    this.become(this.at(index), index, "reasoning")
    this.sink.reasoning(index, literal, true)
  }

  private start(chunk: Readonly<Record<string, unknown>>): void {
    this.started = true
    const usage = chunk["usageMetadata"]
    const tier = Json.isRecord(usage) ? usage["serviceTier"] : null
    const created = typeof chunk["createTime"] === "string" ? Date.parse(chunk["createTime"]) : Number.NaN
    this.responseId = typeof chunk["responseId"] === "string" ? chunk["responseId"] : ""
    this.sink.start({
      id: this.responseId === "" ? null : this.responseId,
      model: typeof chunk["modelVersion"] === "string" ? chunk["modelVersion"] : null,
      createdAt: Number.isNaN(created) ? null : Math.floor(created / 1000),
      serviceTier: typeof tier === "string" ? tier.toLowerCase() : null,
      systemFingerprint: null
    })
  }

  private candidate(candidate: Record<string, unknown>, position: number): void {
    const own = typeof candidate["index"] === "number" ? Json.countAt(candidate, "index") : position
    const index = own < mostChoices ? own : position
    if (index >= mostChoices) return
    const content = Json.recordAt(candidate, "content")
    const choice = this.at(index)
    if (content !== null && Array.isArray(content["parts"])) {
      for (const part of content["parts"]) if (Json.isRecord(part)) this.part(part, choice, index)
    }
    for (const annotation of annotationsOf(candidate, (byte) => choice.said.characterAt(byte))) this.sink.annotation(index, relative(annotation, choice.partStart))
    const logprobs = logprobsOf(candidate["logprobsResult"])
    if (logprobs.length > 0) this.sink.logprobs(index, logprobs)
    this.finish(index, candidate["finishReason"])
  }

  private part(part: Record<string, unknown>, choice: Choice, index: number): void {
    const signature = signatureOf(part)
    const { functionCall, text, thought } = part
    if (typeof text === "string") {
      if (text !== "") {
        if (thought === true) this.thought(index, escape(text))
        else this.text(index, escape(text))
      }
      if (signature === null) return
      const signs = choice.newest === "reasoning" || (choice.newest === "text" && thought !== true)
      if (signs) this.sink.signature(index, signature)
      else {
        if (choice.newest !== null) this.sink.partEnd(index)
        this.sink.hiddenReasoning(index, signature, null)
      }
      this.close(choice, index)
    } else if (Json.isRecord(functionCall)) {
      this.become(choice, index, "other")
      const call = choice.calls++
      const name = typeof functionCall["name"] === "string" ? functionCall["name"] : ""
      const args = JSON.stringify(functionCall["args"] ?? {})
      const id = typeof functionCall["id"] === "string" && functionCall["id"] !== "" ? functionCall["id"] : callIdOf(this.responseId, index, call, name + args)
      this.sink.toolCall(index, call, id, name, false, signature)
      this.sink.toolArguments(index, call, escape(args))
      this.close(choice, index)
    } else {
      const medium = mediumOf(part)
      if (medium === null) return
      this.become(choice, index, "other")
      this.sink.media(index, { ...medium, signature })
      this.close(choice, index)
    }
  }

  private finish(index: number, reason: unknown): void {
    const choice = this.at(index)
    const finish = choice.finished ? null : finishOf(reason, choice.calls)
    if (finish === null) return
    choice.finished = true
    this.sink.finish(index, finish, null)
  }

  private at(index: number): Choice {
    let choice = this.choices[index]
    if (choice === undefined) {
      choice = { newest: null, calls: 0, finished: false, said: new GrowingText(), characters: 0, partStart: 0 }
      this.choices[index] = choice
    }
    return choice
  }

  /** The kind of part that comes now; another open one ends. */
  private become(choice: Choice, index: number, kind: "text" | "reasoning" | "other"): void {
    if (choice.newest === kind) return
    if (choice.newest === "text" || choice.newest === "reasoning") this.sink.partEnd(index)
    if (kind === "text") choice.partStart = choice.characters
    choice.newest = kind
  }

  private close(choice: Choice, index: number): void {
    this.sink.partEnd(index)
    choice.newest = null
  }
}

const relative = (annotation: Annotation, partStart: number): Annotation =>
  partStart === 0 || annotation.start === null || annotation.end === null
    ? annotation
    : { ...annotation, start: Math.max(0, annotation.start - partStart), end: Math.max(0, annotation.end - partStart) }

const mediumOf = (part: Record<string, unknown>) => {
  const inline = Json.recordAt(part, "inlineData")
  if (inline !== null && typeof inline["data"] === "string") {
    const mimeType = typeof inline["mimeType"] === "string" ? inline["mimeType"] : "application/octet-stream"
    return ofInline({ mimeType, data: standardBase64(inline["data"]) ?? inline["data"] }, null)
  }
  const file = Json.recordAt(part, "fileData")
  if (file === null || typeof file["fileUri"] !== "string") return null
  return ofFile({ fileUri: file["fileUri"], ...(typeof file["mimeType"] === "string" ? { mimeType: file["mimeType"] } : {}) }, null)
}
