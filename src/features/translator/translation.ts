/** A request or a recorded stream in another format, by the codecs that serve requests, each step of the way. Pure. */
import { PublicError } from "#schemas/errors.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { UpstreamErrorBody, Usage } from "#actors/request/ports/Face.ts"
import type { Conversation, FamilyName, FormatName } from "#schemas/wire/conversation.ts"
import * as BodyRules from "#src/providers/bodyRules.ts"
import * as Compat from "#src/wire/compat/compat.ts"
import * as Preset from "#src/wire/compat/preset.ts"
import * as Formats from "#src/wire/formats.ts"
import * as Splice from "#src/wire/json/splice.ts"
import { conversationIn } from "#src/wire/longIntegers/conversationIn.ts"
import type { EncoderOptions } from "#src/wire/stream/StreamSink.ts"
import type { TargetTraits } from "#src/wire/WireFormat.ts"
import { writeRequest } from "#src/wire/writeRequest.ts"

type Body = Readonly<Record<string, unknown>>

/** A request as a target's upstream would be sent it. */
export interface Translated {
  /** The neutral form; null where the formats are the same and the bytes are only edited. */
  readonly conversation: Conversation | null
  readonly body: Buffer
  /** Fields, by the client's names, that the target cannot say. */
  readonly omitted: ReadonlyArray<string>
}

/** `target`: what the model id leads to; null: a model of which nothing is known. */
export const traitsOf = (target: Target | null, model: string, stream: boolean): TargetTraits => ({
  model: target?.model ?? model, stream, maxOutputTokens: target?.maxOutputTokens ?? null, reasoning: target?.reasoning ?? null,
  streamOptions: target?.streamOptions ?? true, previousResponseId: "auto",
  developerRole: target?.compat?.developerRole ?? null, reasoningControl: target?.compat?.reasoningControl ?? null
})

/** The neutral form of a request. */
export const neutral = (from: FormatName, body: Body): Conversation | PublicError =>
  conversationIn(Formats.client(from), body, Buffer.from(JSON.stringify(body)))

const ruled = (target: Target | null, from: FormatName, to: FamilyName, body: Uint8Array): Buffer => {
  const { bodyRules, compat, model, thinking } = target ?? unruled
  const provided = bodyRules === undefined || bodyRules === null ? body : BodyRules.apply(bodyRules, body)
  return Buffer.from(compat === undefined || compat === null ? provided : Compat.apply(compat, { model, thinking, family: to, isOwn: Formats.isSame(from, to) }, provided))
}
const unruled: Pick<Target, "bodyRules" | "compat" | "model" | "thinking"> = { model: "", thinking: null }

export const request = (from: FormatName, to: FamilyName, body: Body, target: Target | null, traits: TargetTraits): Translated | PublicError => {
  const family = Formats.family(to)
  const bytes = Buffer.from(JSON.stringify(body))
  if (Formats.isSame(from, to)) {
    const edits = family.passThroughEdits(body, traits)
    return { conversation: null, body: ruled(target, from, to, edits.length === 0 ? bytes : Splice.edit(bytes, body, edits) ?? bytes), omitted: [] }
  }
  const conversation = neutral(from, body)
  if (conversation instanceof PublicError) return conversation
  const preset = target?.compat?.preset ?? null
  const written = writeRequest(preset === null ? conversation : Preset.ofConversation(preset, conversation), { body: bytes, parsed: body }, family, traits)
  return written instanceof PublicError ? written : { conversation, body: ruled(target, from, to, written.body), omitted: written.omitted }
}

/** A recorded stream as a client of another format would have been sent it. */
export interface Played {
  readonly stream: string
  /** The stream came to its end: nothing is missing. */
  readonly complete: boolean
  /** A frame could not be read. */
  readonly malformed: boolean
  /** What the upstream said in the stream's place. */
  readonly error: UpstreamErrorBody | null
  readonly usage: Usage | null
  /** The model's text. */
  readonly text: string
}

const brokenOff = new PublicError("upstream_reset", 502, "server_error", "The stream ended before its last frame.")

export const stream = (from: FamilyName, to: FormatName, recorded: string, options: Omit<EncoderOptions, "includeUsage">): Played => {
  const tap = Formats.dialectOf(Formats.client(to), Formats.family(from), options).makeTap({ forwardUsage: true })
  const pieces: Array<string> = []
  const keep = (bytes: Uint8Array | null): void => {
    if (bytes !== null) pieces.push(Buffer.from(bytes).toString("utf8"))
  }
  keep(tap.push(Buffer.from(recorded)))
  if (!tap.malformed && tap.error === null) keep(tap.end())
  const complete = !tap.malformed && tap.error === null && (tap.terminal || tap.finished)
  if (!complete) keep(tap.fail(brokenOff))
  const played = { stream: pieces.join(""), complete, malformed: tap.malformed, error: tap.error, usage: tap.usage, text: tap.outputText() }
  tap.close()
  return played
}
