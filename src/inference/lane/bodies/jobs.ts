/**
 * What is done with a large body, away from the loop: functions from its bytes to bytes or to small facts, never to its tree, whose copy
 * would hold the loop as long as the parser does. They run in `bodyWorker.ts`.
 */
import * as Crypto from "node:crypto"
import type { Target } from "#actors/request/ports/Target.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import type { FormatName, Signature } from "#schemas/wire/conversation.ts"
import * as Identity from "#src/inference/lane/identity.ts"
import { outlineOf } from "./outline.ts"
import { Prompt } from "./Prompt.ts"
import { Speech } from "#src/inference/conversations/Speech.ts"
import type { AutoEffort } from "#src/routing/auto/effort.ts"
import * as JsonBounds from "#src/platform/structures/jsonBounds.ts"
import * as Formats from "#src/wire/formats.ts"
import * as Json from "#src/wire/json/json.ts"
import type { Restored } from "#src/wire/neutral/toolNames.ts"
import type { PromptCacheRules } from "#src/wire/promptCache.ts"
import type { RequestHead, TargetTraits } from "#src/wire/WireFormat.ts"

type Body = Record<string, unknown>

/** A body that another job may be about, too. */
export interface Subject {
  /** Of this body in this process. */
  readonly id: number
  readonly bytes: Uint8Array
}

export interface Open extends Subject {
  readonly kind: "open"
  /** The format whose head is checked; null = that of no conversation. */
  readonly format: FormatName | null
  /** Members that the path will say; they are not missed. */
  readonly fromPath: boolean
}

export interface Opened {
  readonly outline: Body
  readonly containers: number
  /** SHA-256 of the bytes, hex. */
  readonly digest: string
  /** SHA-256 of what makes the body the same for the response cache; null when its answer is not kept there. */
  readonly identity: string | null
}

/** A request in the words of a target's family. */
export interface Speak extends Subject {
  readonly kind: "speak"
  /** Members that the path said. */
  readonly grown: Readonly<Record<string, unknown>>
  readonly format: FormatName
  readonly head: RequestHead
  readonly target: Target
  readonly combo: Pick<Combo, "system_message" | "tool_filter_regex"> | null
  readonly reasoningTokenBufferEnabled: boolean
  readonly effortHeader: string | undefined
  /** As it was chosen for an earlier target; undefined = not yet. */
  readonly effort: AutoEffort | null | undefined
  readonly promptCache: PromptCacheRules
  readonly previousResponseId: TargetTraits["previousResponseId"]
  /** Text of the broken answer that is to be gone on with. */
  readonly continues: string | null
  /** Remembered signatures, by tool call id. */
  readonly signatures: ReadonlyMap<string, Signature>
}

export interface Spoken {
  /** Null = the bytes that came. */
  readonly body: Uint8Array | null
  readonly omitted: ReadonlyArray<string>
  readonly effort: AutoEffort | null | undefined
  /** What the body says in the place of the client's tools. */
  readonly tools: Restored | null
  /** Tool calls that might be signed if their signatures were given. */
  readonly unsigned: ReadonlyArray<string>
}

export type Job = Open | Speak

export interface Replies {
  readonly open: Opened
  readonly speak: Spoken
}

/** Parses bytes within the bounds. */
export type Parse = (subject: Subject) => Body | PublicError

export const run = (job: Job, parse: Parse): Replies[Job["kind"]] | PublicError => {
  if (job.kind === "open") return open(job, parse)
  const body = parse(job)
  return body instanceof PublicError ? body : speak(job, body)
}

const bufferOf = ({ bytes }: Subject): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** The JSON object of a text within the bounds, or why there is none. */
export const parseBody = (bytes: Buffer): Body | PublicError => {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString("utf8"))
  } catch (cause) {
    return Errors.make("invalid_json", `The request body is not valid JSON: ${cause instanceof Error ? cause.message.slice(0, 200) : ""}`, { extra: { param: "body" } })
  }
  return Json.isRecord(value) ? value : Errors.make("bad_request", "The request body must be a JSON object.", { extra: { param: "body" } })
}

export const refusalOf = (excess: JsonBounds.Excess): PublicError =>
  Errors.make("bad_request", `The request body is refused: ${JsonBounds.describe(excess)}.`, { extra: { param: "body" } })

const open = (job: Open, parse: Parse): Opened | PublicError => {
  const bytes = bufferOf(job)
  const size = JsonBounds.measure(bytes)
  if ("what" in size) return refusalOf(size)
  const body = parse(job)
  if (body instanceof PublicError) return body
  if (job.format !== null) {
    const head = Formats.client(job.format).head(job.fromPath ? { ...body, model: "model" } : body)
    if (head instanceof PublicError) return head
  }
  return {
    outline: outlineOf(body), containers: size.containers, digest: Crypto.hash("sha256", bytes, "hex"),
    identity: job.format === null ? null : Identity.digestOf(job.format, body)
  }
}

const speak = (job: Speak, body: Body): Spoken | PublicError => {
  const bytes = bufferOf(job)
  const prompt = new Prompt(bytes, { ...body, ...job.grown })
  const route = { combo: job.combo, config: { reasoningTokenBufferEnabled: job.reasoningTokenBufferEnabled } }
  const unsigned: Array<string> = []
  const recall = (_scope: string, callId: string): Signature | null => {
    const known = job.signatures.get(callId)
    if (known === undefined) unsigned.push(callId)
    return known ?? null
  }
  const services = { promptCache: () => job.promptCache, previousResponseId: () => job.previousResponseId, signatures: { recall } }
  const speech = new Speech(services, Formats.client(job.format), job.head, prompt, route, null, job.effortHeader, job.effort)
  const said = job.continues === null ? speech.bodyFor(job.target) : speech.continuationFor(job.target, job.continues)
  return said instanceof PublicError
    ? said
    : { body: said === bytes ? null : said, omitted: speech.omittedFor(job.target), effort: speech.chosenEffort, tools: speech.tools, unsigned }
}
