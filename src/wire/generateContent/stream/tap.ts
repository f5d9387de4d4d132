/** The pass-through tap: forwards the upstream's bytes and reads usage, errors and the end. */
import type { Estimate, StreamTap, TapOptions, UpstreamErrorBody, Usage } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import { errorFrames } from "#src/wire/generateContent/errors.ts"
import { errorOf, finishOf, isBlocked, usageOf, usageText } from "#src/wire/generateContent/facts.ts"
import { quickDataOf } from "./frameData.ts"
import { PlainFrame } from "./PlainFrame.ts"
import * as Json from "#src/wire/json/json.ts"
import { longEventBytes, LongStrings } from "#src/wire/json/LongStrings.ts"
import { dataOf, SseScanner } from "#src/wire/stream/SseScanner.ts"
import { escape } from "#src/wire/stream/literal.ts"
import { withTerminator } from "#src/wire/stream/terminator.ts"
import { Ranges } from "#src/wire/stream/Ranges.ts"
import { KeptText } from "#src/wire/stream/KeptText.ts"

export class GenerateContentTap implements StreamTap {
  alive = false
  useful = false
  terminal = false
  malformed = false
  error: UpstreamErrorBody | null = null
  usage: Usage | null = null
  private readonly scanner: SseScanner
  private readonly plain = new PlainFrame()
  /** Choices seen, true when finished. */
  private readonly choices: Array<boolean | undefined> = []
  private readonly kept = new KeptText()
  private readonly ranges = new Ranges()
  private readonly long = new LongStrings()

  private readonly estimate: Estimate | null

  constructor({ estimate = null }: TapOptions) {
    this.estimate = estimate
    this.scanner = new SseScanner(this)
  }

  /** Every choice that was seen has its finish reason. */
  get finished(): boolean {
    return this.choices.length > 0 && this.choices.every((finished) => finished !== false)
  }

  push(chunk: Uint8Array): Uint8Array | null {
    if (!this.scanner.push(asBuffer(chunk))) this.malformed = true
    return this.ranges.take()
  }

  /** The end of the body is this format's own end. */
  end(): Uint8Array | null {
    this.scanner.flush()
    const rest = this.ranges.take()
    if (!this.finished || this.error !== null || this.malformed) return rest
    this.terminal = true
    // Usage may come with any chunk, also behind the one that says why the answer ended.
    return this.usage !== null || this.estimate === null
      ? rest
      : withTerminator(rest, `data: {"usageMetadata":${usageText(this.estimate.of(this.outputText()))}}\n\n`)
  }

  close(): void {
    this.scanner.close()
  }

  fail(error: PublicError): Uint8Array {
    return Buffer.from(errorFrames(error))
  }

  outputText(): string {
    return this.kept.text()
  }

  /** One complete event of the upstream (called by the scanner). */
  event(bytes: Buffer, start: number, end: number): void {
    if (this.inspect(bytes, start, end)) this.ranges.add(bytes, start, end)
    this.long.forget()
  }

  /** Reads what the gateway must know of one event; answers whether the client gets it. */
  private inspect(bytes: Buffer, start: number, end: number): boolean {
    if (this.error !== null || this.malformed) return false
    const isLong = end - start > longEventBytes
    const data = isLong ? dataOf(bytes, start, end, this.long) : quickDataOf(bytes, start, end)
    if (data === null) return true
    const { plain } = this
    if (!isLong && plain.fits(data)) {
      if (plain.end > plain.start) {
        this.useful = true
        this.kept.add(data.slice(plain.start, plain.end))
      }
      this.choices[plain.choice] ??= false
      this.usage = plain.usage ?? this.usage
      return true
    }
    if (data === "") return true
    // Other formats' terminator, which some proxies add: the format's clients would try to parse it.
    if (data.trim() === "[DONE]") return false
    const frame = Json.parseRecord(data)
    if (frame === null) {
      this.malformed = true
      return false
    }
    if (!isLong) plain.learn(data, frame)
    return this.frame(frame)
  }

  private frame(frame: Readonly<Record<string, unknown>>): boolean {
    const error = errorOf(frame)
    if (error !== null) {
      this.error = error
      this.useful = true
      return false
    }
    this.alive = true
    this.usage = usageOf(frame["usageMetadata"]) ?? this.usage
    const candidates = frame["candidates"]
    if (Array.isArray(candidates)) {
      candidates.slice(0, mostChoices).forEach((candidate: unknown, position) => {
        if (Json.isRecord(candidate)) this.candidate(candidate, position)
      })
    }
    if (isBlocked(frame)) {
      this.choices[0] = true
      this.useful = true
    }
    return true
  }

  private candidate(candidate: Record<string, unknown>, position: number): void {
    const own = typeof candidate["index"] === "number" ? Json.countAt(candidate, "index") : position
    const index = own < mostChoices ? own : position
    const content = Json.recordAt(candidate, "content")
    for (const part of content !== null && Array.isArray(content["parts"]) ? content["parts"] : []) {
      if (!Json.isRecord(part)) continue
      if (typeof part["text"] !== "string") {
        if (Object.keys(part).length > 0) this.useful = true
        if (part["functionCall"] !== undefined) this.kept.add(this.long.restore(escape(JSON.stringify(part["functionCall"]))))
      } else if (part["text"] !== "") {
        this.useful = true
        this.kept.add(this.long.restore(escape(part["text"])))
      }
    }
    const finish = finishOf(candidate["finishReason"], 0)
    // An answer that simply stopped and is empty is an early end; one that was cut or refused is an answer.
    if (finish !== null && finish !== "stop") this.useful = true
    this.choices[index] = this.choices[index] === true || finish !== null
  }

}

const mostChoices = 64
