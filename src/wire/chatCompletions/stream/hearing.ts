/** The thoughts of calls, read beside an answer that is forwarded or translated. */
import type { TapOptions } from "#actors/request/ports/Face.ts"
import type { Answer } from "#schemas/wire/conversation.ts"
import { ChatDecoder } from "#src/wire/chatCompletions/stream/decodeStream.ts"
import { ChatTap } from "#src/wire/chatCompletions/stream/tap.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import { AnswerBuilder } from "#src/wire/neutral/AnswerBuilder.ts"
import type { StreamDecoder } from "#src/wire/stream/StreamSink.ts"
import type { UpstreamCodec } from "#src/wire/WireFormat.ts"

/** Called once for each choice of a whole answer that thought and called tools. */
export type Heard = (callIds: ReadonlyArray<string>, reasoning: string) => void

const tell = ({ choices }: Answer, heard: Heard): void => {
  for (const { parts } of choices) {
    const callIds = parts.flatMap((part) => part.kind === "toolCall" ? [part.id] : [])
    const reasoning = parts.map((part) => part.kind === "reasoning" ? part.text : "").join("")
    if (callIds.length > 0 && reasoning !== "") heard(callIds, reasoning)
  }
}

/** Reads a stream a second time; what it cannot read, it leaves to the one that answers for the stream. */
class Listener {
  private readonly heard: Heard
  private readonly builder = new AnswerBuilder()
  private readonly decoder = new ChatDecoder(this.builder)
  private listens = true

  constructor(heard: Heard) {
    this.heard = heard
  }

  push(chunk: Uint8Array): void {
    if (!this.listens) return
    this.listens = this.decoder.push(asBuffer(chunk)) && this.builder.failure === null
    if (this.builder.isDone) this.settle()
  }

  end(): void {
    if (this.listens && this.decoder.end() && this.builder.failure === null) this.settle()
  }

  close(): void {
    this.listens = false
    this.decoder.close()
  }

  private settle(): void {
    if (!this.listens) return
    this.listens = false
    tell(this.builder.answer(), this.heard)
  }
}

class HearingTap extends ChatTap {
  private readonly listener: Listener

  constructor(asked: TapOptions, heard: Heard) {
    super(asked)
    this.listener = new Listener(heard)
  }

  override push(chunk: Uint8Array): Uint8Array | null {
    this.listener.push(chunk)
    return super.push(chunk)
  }

  override end(): Uint8Array | null {
    this.listener.end()
    return super.end()
  }

  override close(): void {
    this.listener.close()
    super.close()
  }
}

class HearingDecoder implements StreamDecoder {
  private readonly decoder: StreamDecoder
  private readonly listener: Listener

  constructor(decoder: StreamDecoder, heard: Heard) {
    this.decoder = decoder
    this.listener = new Listener(heard)
  }

  push(chunk: Buffer): boolean {
    this.listener.push(chunk)
    return this.decoder.push(chunk)
  }

  end(): boolean {
    this.listener.end()
    return this.decoder.end()
  }

  close(): void {
    this.listener.close()
    this.decoder.close()
  }
}

/** The family with an ear for the thoughts of calls. */
export const hearing = (family: UpstreamCodec, heard: Heard): UpstreamCodec => {
  const decodeAnswer: UpstreamCodec["decodeAnswer"] = (body) => {
    const answer = family.decodeAnswer(body)
    if (answer !== null && "choices" in answer) tell(answer, heard)
    return answer
  }
  return {
    ...family,
    decodeAnswer,
    readAnswer: (body) => {
      decodeAnswer(body)
      return family.readAnswer(body)
    },
    makeDecoder: (sink) => new HearingDecoder(family.makeDecoder(sink), heard),
    makePassThroughTap: (asked) => new HearingTap(asked, heard)
  }
}
