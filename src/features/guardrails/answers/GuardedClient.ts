/** In front of the client of one conversation: what guardrails of answers change or block does not reach it. */
import { PublicError } from "#schemas/errors.ts"
import { LARGE_BYTES } from "#schemas/largeBodies.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import type { Client } from "#actors/request/Inbound.ts"
import type { BodyWorkers } from "#src/inference/lane/bodies/BodyWorkers.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import * as Json from "#src/wire/json/json.ts"
import type { ClientCodec } from "#src/wire/WireFormat.ts"
import type { Note } from "#src/features/guardrails/Notes.ts"
import { refusing, type Report } from "#src/features/guardrails/Reading.ts"
import * as Refusals from "#src/features/guardrails/refusals.ts"
import type { finders, Rules } from "#src/features/guardrails/rules.ts"
import { answering } from "./answerJobs.ts"
import { answerOf, AnswerReading } from "./AnswerReading.ts"
import { GuardedStream } from "./GuardedStream.ts"

export interface Options {
  readonly client: Client
  readonly codec: ClientCodec
  readonly modes: Rules["answers"]
  readonly bodies: BodyWorkers
  readonly note: Note
  readonly requestId: string
  /** Absent: those of `rules.ts`. */
  readonly finders?: typeof finders
}

const bytesOf = (chunk: Uint8Array | string): Buffer => typeof chunk === "string" ? Buffer.from(chunk) : asBuffer(chunk)

export class GuardedClient implements Client {
  readonly #options: Options
  readonly #reading: AnswerReading
  #stream: GuardedStream | null = null
  /** The client has its end: what still comes is dropped. */
  #isOver = false
  /** The client took what was written last. */
  #isTaken = true

  constructor(options: Options) {
    this.#options = options
    this.#reading = new AnswerReading(options.modes, options.finders)
  }

  start(status: number, headers: ReadonlyArray<string>): void {
    if (StatusReason.isOk(status)) this.#stream = new GuardedStream(this.#reading, this.#options.codec.name)
    this.#options.client.start(status, headers)
  }

  relay(chunk: Uint8Array): boolean {
    const { client } = this.#options
    // The provider's answer is read to its end, because it is paid.
    if (this.#isOver) return true
    if (this.#stream === null) return client.relay(chunk)
    const left = this.#read((stream) => stream.push(chunk))
    if (this.#reading.observes) return client.relay(chunk)
    if (left === null) return true
    if (left.length > 0) this.#isTaken = client.relay(left)
    return this.#isTaken
  }

  onDrain(listener: () => void): void {
    this.#options.client.onDrain(() => {
      this.#isTaken = true
      listener()
    })
  }

  end(chunk?: Uint8Array | string): void {
    const { client } = this.#options
    if (this.#isOver) return
    if (this.#stream === null) return client.end(chunk)
    const left = this.#read((stream) => {
      const before = chunk === undefined ? Buffer.alloc(0) : stream.push(bytesOf(chunk))
      return before === null ? null : Buffer.concat([before, stream.end()])
    })
    if (!this.#reading.observes && left === null) return
    this.#conclude()
    client.end(this.#reading.observes ? chunk : left ?? undefined)
  }

  respond(status: number, headers: ReadonlyArray<string>, body: Uint8Array | string): void {
    const { bodies, client, codec, modes } = this.#options
    if (this.#isOver) return
    if (!StatusReason.isOk(status)) return client.respond(status, headers, body)
    const bytes = bytesOf(body)
    if (isStream(headers)) return this.#respondStream(status, headers, bytes)
    const say = (reports: ReadonlyArray<Report>, left: Uint8Array): void => {
      this.#conclude(reports)
      const refused = refusing(reports)
      const error = refused === null ? null : Refusals.of(refused, "answer")
      if (error === null) client.respond(status, headers, left)
      else client.respond(error.status, headers, codec.errorBody(error))
    }
    if (bytes.length > LARGE_BYTES) {
      bodies.ask(answering, { id: bodies.nextId(), bytes, format: codec.name, modes }, (said) => {
        if (said instanceof PublicError) this.#reading.fail(said.message)
        if (said instanceof PublicError) say(this.#reading.reports, bytes)
        else say(said.reports, said.bytes ?? bytes)
      })
      return
    }
    say(this.#reading.reports, this.#whole(bytes))
  }

  close(): void {
    this.#stream?.close()
    if (!this.#isOver) this.#options.client.close()
  }

  #whole(bytes: Buffer): Buffer {
    const answer = Json.parseRecord(bytes.toString("utf8"))
    try {
      if (answer === null) throw new Error("the answer is no JSON object")
      return answerOf(this.#reading, this.#options.codec.name, bytes, answer)
    } catch (cause) {
      this.#reading.fail(cause)
      return bytes
    }
  }

  /** A stream that was whole before it began. */
  #respondStream(status: number, headers: ReadonlyArray<string>, bytes: Buffer): void {
    const { client, codec } = this.#options
    this.#stream = new GuardedStream(this.#reading, codec.name)
    let left: Buffer = bytes
    try {
      left = Buffer.concat([this.#stream.push(bytes) ?? Buffer.alloc(0), this.#stream.end()])
    } catch (cause) {
      this.#reading.fail(cause)
    }
    this.#conclude()
    const refused = refusing(this.#reading.reports)
    client.respond(status, headers, refused === null ? this.#reading.observes ? bytes : left : codec.errorFrames(Refusals.of(refused, "answer")))
  }

  /** Reads on; null where the stream was ended with an error instead, or has failed. */
  #read(step: (stream: GuardedStream) => Buffer | null): Buffer | null {
    let left: Buffer | null = null
    try {
      left = step(this.#stream as GuardedStream)
      if (left === null) this.#reading.fail("an event of the stream is too long")
    } catch (cause) {
      this.#reading.fail(cause)
    }
    const refused = refusing(this.#reading.reports)
    if (refused === null) return left
    const { client, codec } = this.#options
    this.#isOver = true
    this.#stream?.close()
    this.#conclude()
    const frames = Buffer.from(codec.errorFrames(Refusals.of(refused, "answer"), this.#stream?.progress))
    client.end(left === null ? frames : Buffer.concat([left, frames]))
    return null
  }

  #conclude(reports = this.#reading.reports): void {
    const { note, requestId } = this.#options
    this.#isOver = true
    note(reports, "answer", requestId)
  }
}

const isStream = (headers: ReadonlyArray<string>): boolean => {
  const at = headers.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === "content-type")
  return at !== -1 && /^(?:text\/event-stream|application\/x-ndjson)/i.test(headers[at + 1] ?? "")
}
