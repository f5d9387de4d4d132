/** What a client sent, for as long as it is needed. */
import type * as Effect from "effect/Effect"
import type * as Compress from "#src/compression/compress.ts"
import type { Plan } from "#src/compression/plan.ts"
import type { BodyWorkers } from "./BodyWorkers.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Units } from "#schemas/records/Units.ts"
import * as Demands from "#src/routing/capabilities/demands.ts"
import type { Form } from "#src/wire/form/Form.ts"
import { type About, type AskedPrompt, unknownRequest } from "#src/routing/RequestMoment.ts"
import * as GatewayFields from "#src/wire/gatewayFields.ts"
import * as Json from "#src/wire/json/json.ts"

/** Prompts up to this many bytes are kept for the tokenizer; longer ones are counted by their length. */
const keptPromptBytes = 64 * 1024
/** Objects and lists of a large body that may be read on the loop. */
const readContainers = 10_000

/** What is known of a body that is read by threads of its own (`BodyWorkers`); `parsed` is then its outline. */
export interface Large {
  /** Its number among the bodies of this process. */
  readonly id: number
  /** Objects and lists in it. */
  readonly containers: number
  /** SHA-256 of the bytes, hex. */
  readonly digest: string
  /** SHA-256 of what makes it the same for the response cache; null when its answer is not kept there. */
  readonly identity: string | null
  /** Tokens that the prompt has at least. */
  readonly leastTokens: number
  /** What it is expected to use beside tokens, counted over the whole body; null where its outline says that, too. */
  readonly units: Units | null
  /** Media of its turns; null where it is no conversation. */
  readonly media: Demands.Media | null
  /** Members that the path said. */
  readonly grown: Readonly<Record<string, unknown>>
}

/** How a prompt is sent shorter than its client wrote it. */
export interface Shortening {
  /** Value of X-Gateway-Compression. */
  readonly header: string
  /** What is done; null = nothing. */
  readonly plan: Plan | null
  /** What asks the model for a short answer, beside the instructions; null = nothing. */
  readonly terse: string | null
  /** A vendor that can clear older results of tools is asked to. */
  readonly clears: boolean
  /** Estimated tokens that were saved; null = none, or not known yet. */
  readonly savedTokens: number | null
  /** Makes a prompt shorter in a thread of its own; null when `now` does it. */
  readonly prepare: (workers: BodyWorkers, prompt: Prompt) => Effect.Effect<void> | null
  /** Makes a prompt shorter, unless it was made so before, or is large. */
  readonly now: (prompt: Prompt) => void
  /** The whole of a large body, shorter. */
  readonly ofTree: (body: Record<string, unknown>) => Record<string, unknown>
  /** The thread that wrote a large body says what was saved. */
  readonly saved: (savings: Compress.Savings) => void
  /** Another target than the first is asked. True when the prompt is another one from now on. Absent: nothing changes then. */
  readonly onFallback?: () => boolean
}

/**
 * The request's body while it may still be sent, without the members for the gateway alone; afterwards only what the tokenizer
 * may need. A large body stays as it came: `tree` and the thread that writes it leave those members out.
 */
export class Prompt implements AskedPrompt {
  body: Buffer
  parsed: Record<string, unknown>
  /** Null for a body that `parsed` holds whole. */
  readonly large: Large | null
  /** Its parts, where it is a form; `parsed` is then its fields. */
  readonly form: Form | null
  /** Id of the key that asks, or `anonymous`. */
  readonly tenant: string
  /** Bytes that the client sent. */
  readonly bytes: number
  /** What an answer repeats beside the body, such as the response that it goes on with; null = nothing. */
  names: Readonly<Record<string, unknown>> | null = null
  /** Null = it is sent as it came. */
  shortening: Shortening | null = null
  /** Called when a long body, or a form, is not held any more. */
  onRelease: (() => void) | null = null
  private readonly describe: (prompt: Prompt) => About

  /** `describe`: what a strategy may ask of it. */
  constructor(
    body: Buffer, parsed: Record<string, unknown>, large: Large | null = null, key: Pick<ApiKey, "id"> | null = null, form: Form | null = null,
    describe: (prompt: Prompt) => About = unknownRequest.about
  ) {
    this.describe = describe
    const sent = large === null && form === null ? GatewayFields.ofBody(parsed) : parsed
    this.form = form
    this.tenant = key === null ? "anonymous" : key.id
    this.body = sent === parsed ? body : GatewayFields.ofBytes(body, parsed, sent)
    this.parsed = sent
    this.large = large
    this.bytes = form === null ? body.length : form.length
  }

  about(): About {
    return this.describe(this)
  }

  demands(): Demands.Demands {
    return this.form === null ? Demands.of(this.parsed, this.large === null ? null : this.large.media) : Demands.none
  }

  release(): void {
    if (this.form === null) {
      this.parsed = released
      if (this.bytes <= keptPromptBytes) return
      this.body = noBytes
    }
    this.onRelease?.()
  }

  /**
   * The whole of it, read now. A large body is parsed on the event loop where its tree is needed (ensembles, hand-offs, shadows),
   * unless that takes too long.
   */
  tree(): Record<string, unknown> | PublicError {
    const { large } = this
    if (large === null) return this.parsed
    if (large.containers > readContainers) return tooManyParts
    const tree = { ...GatewayFields.ofBody(Json.parseRecord(this.body.toString("utf8")) ?? {}), ...large.grown }
    return this.shortening === null ? tree : this.shortening.ofTree(tree)
  }

  /** What the model reads of it, asked for only if an upstream gives no usage; a long prompt is represented by its length. */
  text(): string {
    if (this.form !== null) return promptFields.map((name) => typeof this.parsed[name] === "string" ? `${this.parsed[name]}\n` : "").join("")
    if (this.bytes > keptPromptBytes || this.large !== null) return " word".repeat(Math.ceil(this.bytes / 5))
    const parsed = this.parsed === released ? Json.parseRecord(this.body.toString("utf8")) ?? released : this.parsed
    return promptFields.map((name) => textOf(parsed[name])).join("")
  }
}

const tooManyParts = Errors.make(
  "payload_too_large", `This request may hold ${readContainers} objects and lists, because it is counted, or said to several models: send fewer messages, or ask one model.`
)

const released: Record<string, unknown> = {}
const noBytes = Buffer.alloc(0)

/** Fields of all formats that a model reads. */
const promptFields = ["system", "instructions", "systemInstruction", "system_instruction", "messages", "input", "contents", "prompt", "suffix", "tools"]

const textOf = (value: unknown): string => {
  if (typeof value === "string") return value.startsWith("data:") ? "" : `${value}\n`
  // Tokens of an embeddings request: about a word each.
  if (Array.isArray(value)) return typeof value[0] === "number" ? " word".repeat(value.length) : value.map(textOf).join("")
  if (!Json.isRecord(value)) return ""
  const isMedium = mediaTypes.some((name) => typeof value[name] === "string")
  return Object.entries(value).map(([name, part]) => isBytes(name, isMedium) ? "" : textOf(part)).join("")
}

const mediaTypes = ["mimeType", "mime_type", "media_type"]

/** Base64 is no text: beside a media type, and where a format names it so. */
const isBytes = (name: string, isMedium: boolean): boolean => (isMedium && name === "data") || name === "images" || name === "file_data" || name === "input_audio"
