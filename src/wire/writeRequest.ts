/**
 * A conversation as the bytes of a target's request. Long texts and images are not written by the codec: it is given a short mark in
 * the place of each, and the bytes the client sent are copied to where the mark came out. A prompt of a megabyte is then neither
 * escaped nor encoded a second time.
 */
import type { PublicError } from "#schemas/errors.ts"
import type { Conversation, MediaPart, ContentPart, TextPart, Turn } from "#schemas/wire/conversation.ts"
import * as Base64 from "#src/wire/json/base64.ts"
import * as LiteralRanges from "#src/wire/json/literalRanges.ts"
import { isBlank } from "#src/wire/neutral/foreign.ts"
import type { EncodedRequest, Json, TargetTraits, UpstreamCodec } from "#src/wire/WireFormat.ts"

/** Characters from which a text is worth a mark. */
const long = 4096
/** What no client can write or guess: marks that come out in any other number than they went in are not trusted. */
const nonce = `gatewayMark${crypto.randomUUID().replaceAll("-", "")}n`
const QUOTE = 0x22
const BACKSLASH = 0x5c

export interface WrittenRequest {
  readonly body: Buffer
  readonly omitted: ReadonlyArray<string>
}

/** The request as the client sent it: its bytes, and what they say. */
export interface Original {
  readonly body: Buffer
  readonly parsed: Json
}

export const writeRequest = (conversation: Conversation, original: Original, family: UpstreamCodec, traits: TargetTraits): WrittenRequest | PublicError => {
  const marks = new Marks(original)
  const marked = marks.put(conversation)
  if (marks.count > 0) {
    const encoded = family.encodeRequest(marked, traits)
    if ("_tag" in encoded) return encoded
    const body = marks.fill(encoded.body)
    if (body !== null) return { body, omitted: encoded.omitted }
  }
  const encoded: EncodedRequest | PublicError = family.encodeRequest(conversation, traits)
  return "_tag" in encoded ? encoded : { body: Buffer.from(encoded.body), omitted: encoded.omitted }
}

/** The end of what the model said before may be cut, and a text of white space alone left out: a mark would hide it. */
const isTrimmed = ({ text }: TextPart, { role }: Turn): boolean =>
  text.length >= long && (isBlank(text) || (role === "assistant" && text.trimEnd().length < text.length))

class Marks {
  private readonly original: Original
  /** What stands for each mark: bytes of the original, or base64 text. */
  private readonly held: Array<Buffer | string> = []
  private ranges: ReadonlyMap<string, LiteralRanges.Range> | null | undefined = undefined

  constructor(original: Original) {
    this.original = original
  }

  get count(): number {
    return this.held.length
  }

  put(conversation: Conversation): Conversation {
    // Some vendors want the word JSON said somewhere in the prompt: then its texts are read.
    const textsAreRead = conversation.settings.output?.kind === "json"
    let turns: Array<Turn> | null = null
    conversation.turns.forEach((turn, at) => {
      let parts: Array<ContentPart> | null = null
      turn.parts.forEach((part, i) => {
        const mark = part.kind === "text" && !textsAreRead && !isTrimmed(part, turn) ? this.text(part) : part.kind === "image" ? this.image(part) : null
        if (mark === null) return
        parts ??= turn.parts.slice()
        parts[i] = mark
      })
      if (parts === null) return
      turns ??= conversation.turns.slice()
      turns[at] = { ...turn, parts }
    })
    return turns === null ? conversation : { ...conversation, turns }
  }

  /** A mark in a text begins with a quote, whose escape shows how deep in strings it came out. */
  private text(part: TextPart): TextPart | null {
    const { annotations, text } = part
    // The replacement character may stand for bytes that are no UTF-8: those are not passed on.
    if (text.length < long || annotations.length > 0 || text.includes("\ufffd")) return null
    if (this.ranges === undefined) this.ranges = LiteralRanges.find(this.original.body, this.original.parsed, long)
    const range = this.ranges?.get(text)
    if (range === undefined) return null
    return { ...part, text: `"${this.hold(this.original.body.subarray(range.start, range.end))}` }
  }

  private image(part: MediaPart): MediaPart | null {
    const { source } = part
    if (source.kind !== "base64" || source.data.length < long || !(source.checked === true || Base64.isSurely(source.data))) return null
    return { ...part, source: { ...source, data: this.hold(source.data) } }
  }

  private hold(held: Buffer | string): string {
    return `${nonce}${this.held.push(held) - 1};`
  }

  /** The bytes of the body with everything in its place; null when a mark is missing, came out twice or inside an inner string. */
  fill(body: string): Buffer | null {
    const pieces: Array<Buffer | string> = []
    const seen = new Set<number>()
    let from = 0
    for (let at = body.indexOf(nonce); at !== -1; at = body.indexOf(nonce, from)) {
      const stop = body.indexOf(";", at)
      const index = Number(body.slice(at + nonce.length, stop))
      const held = this.held[index]
      if (held === undefined || seen.has(index)) return null
      seen.add(index)
      const isText = typeof held !== "string"
      if (isText && !(body.charCodeAt(at - 1) === QUOTE && body.charCodeAt(at - 2) === BACKSLASH && body.charCodeAt(at - 3) !== BACKSLASH)) return null
      pieces.push(Buffer.from(body.slice(from, isText ? at - 2 : at)), held)
      from = stop + 1
    }
    if (seen.size !== this.held.length) return null
    pieces.push(Buffer.from(body.slice(from)))
    return joined(pieces)
  }
}

/** Strings among the pieces are base64. */
const joined = (pieces: ReadonlyArray<Buffer | string>): Buffer => {
  const out = Buffer.allocUnsafe(pieces.reduce((length, piece) => length + piece.length, 0))
  let at = 0
  for (const piece of pieces) at += typeof piece === "string" ? out.write(piece, at, "latin1") : piece.copy(out, at)
  return out
}
