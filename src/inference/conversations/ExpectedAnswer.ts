/** What is known of an answer before it comes, as its dialect needs it. A class, because each call has one. */
import type { AnswerQuestion, AnswerRead } from "#actors/request/ports/Face.ts"
import type { Signature } from "#schemas/wire/conversation.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import * as Answers from "#src/inference/lane/bodies/answers.ts"
import type { LaneServices } from "#src/inference/lane/services/LaneServices.ts"
import type { Heard } from "#src/wire/chatCompletions/stream/hearing.ts"
import type { Options } from "#src/wire/dialects.ts"
import type { Restored } from "#src/wire/neutral/ToolNames.ts"
import type { ClientCodec } from "#src/wire/WireFormat.ts"
import { answering, type PartSaid, type PartWanted } from "./conversationJobs.ts"

/** One answer of several. */
export interface EnsemblePart {
  readonly wanted: PartWanted
  /** Of a large answer, before it is judged; null when there is nothing in it. */
  readonly heard: (said: PartSaid | null) => void
}

export type AnswerServices = Pick<LaneServices, "bodies" | "makeResponseId" | "request">

export class ExpectedAnswer implements Options {
  readonly model: string
  readonly tools: Restored | null
  readonly request: Readonly<Record<string, unknown>>
  readonly remember: ((callId: string, signature: Signature) => void) | undefined
  readonly makeId: () => string
  readonly now: () => number
  private readonly bodies: LaneServices["bodies"]
  private readonly face: ClientCodec
  private readonly family: TargetFamily
  private readonly part: EnsemblePart | null
  private readonly heard: Heard | undefined

  /** `model`: the canonical model id that the answer shows; `part`: what an ensemble reads of a large answer, null without one. */
  constructor(
    { bodies, makeResponseId, request: { now } }: AnswerServices, face: ClientCodec, family: TargetFamily, part: EnsemblePart | null,
    model: string, tools: Restored | null, request: Readonly<Record<string, unknown>>, remember: ((callId: string, signature: Signature) => void) | undefined,
    heard?: Heard
  ) {
    this.model = model
    this.tools = tools
    this.request = request
    this.remember = remember
    this.makeId = makeResponseId
    this.now = secondsOf(now)
    this.bodies = bodies
    this.face = face
    this.family = family
    this.part = part
    this.heard = heard
  }

  readElsewhere(question: AnswerQuestion, done: AnswerRead): boolean {
    const { bodies, face, family, heard, model, part, remember, request, tools } = this
    return Answers.ask(bodies, answering, question, (common) => ({
      ...common, face: face.name, family, model, tools, request, now: this.now(), part: part === null ? null : part.wanted, hears: heard !== undefined
    }), (said) => {
      if (said !== null && remember !== undefined) for (const [callId, signature] of said.signatures) remember(callId, signature)
      if (said !== null && heard !== undefined) for (const [callIds, reasoning] of said.thoughts) heard(callIds, reasoning)
      part?.heard(said === null ? null : said.part)
    }, done)
  }
}

let clock: (() => number) | null = null
let seconds = (): number => 0

/** The clock in seconds; a process has one clock, so that calls share it. */
const secondsOf = (now: () => number): (() => number) => {
  if (now !== clock) {
    clock = now
    seconds = () => Math.floor(now() / 1000)
  }
  return seconds
}
