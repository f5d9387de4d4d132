/**
 * A chat whose last user message is the usage command is answered by the gateway itself, in the client's format, streamed or not,
 * without an upstream call. A key without the right to ask gets the refusal as the answer.
 */
import * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { Limits } from "#actors/limits/ports/Limits.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Telemetry } from "#actors/request/ports/Telemetry.ts"
import type { Answer } from "#schemas/wire/conversation.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as Errors from "#schemas/errors.ts"
import * as GatewayHeaders from "#src/inference/lane/gatewayHeaders.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { Ids } from "#src/inference/lane/services/Ids.ts"
import * as StageAnswers from "#src/inference/lane/stages/stageAnswers.ts"
import { type AdmittedCall, type Fork, type Stage, wait } from "#src/inference/lane/stages/Stages.ts"
import * as Registry from "#src/providers/Registry.ts"
import { Quotas } from "#src/routing/ports/Quotas.ts"
import { streamOf } from "#src/wire/dialects.ts"
import * as Json from "#src/wire/json/json.ts"
import type { ClientCodec } from "#src/wire/WireFormat.ts"
import * as OwnUsage from "./ownUsage.ts"

export const command = "/usage"
/** The model that such an answer names. */
const model = "gateway/usage"
/** A message of more characters is no command. */
const longest = 32

export interface Options {
  /** The usage of a key as text. */
  readonly text: (key: ApiKey) => Effect.Effect<string, StoreError>
  readonly telemetry: Telemetry["Service"]
  /** ms since the epoch. */
  readonly now: () => number
  readonly makeId: () => string
  readonly fork: Fork
}

const isCommand = (text: unknown): boolean => typeof text === "string" && text.length <= longest && text.trim() === command

/** Text of a message in any of the formats: a string, or one text part. */
const says = (content: unknown): boolean => {
  if (!Array.isArray(content)) return isCommand(content)
  const [part] = content as ReadonlyArray<unknown>
  return content.length === 1 && Json.isRecord(part) && isCommand(part["text"])
}

/** Looks at the last message only. */
export const asks = (parsed: Readonly<Record<string, unknown>>): boolean => {
  const list = parsed["messages"] ?? parsed["input"] ?? parsed["contents"]
  if (!Array.isArray(list)) return isCommand(list)
  const last: unknown = list.at(-1)
  return Json.isRecord(last) && (last["role"] === "user" || last["role"] === undefined) && says(last["content"] ?? last["parts"])
}

const answerOf = (text: string, now: number): Answer => ({
  id: null, model, createdAt: Math.floor(now / 1_000),
  choices: [{ index: 0, parts: [{ kind: "text", text, cache: null, annotations: [], signature: null }], finish: "stop", stopSequence: null, logprobs: null }],
  usage: { input: 0, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }, serviceTier: null, systemFingerprint: null
})

export const make = (options: Options): Stage => ({
  name: "usage-command",
  applies: ({ codec, key, parsed }) => key !== null && codec !== null && asks(parsed),
  run: (call) => {
    const { codec, key } = call
    if (key === null || codec === null) return
    const startedAt = options.now()
    if (!key.policy.allowUsageCommand) {
      tell(options, call, codec, "The usage command is disabled for this API key.", startedAt)
      return
    }
    wait(call, options.fork, Effect.match(options.text(key), {
      onFailure: () => null,
      onSuccess: (text) => text
    }), "its usage was read", (text) => {
      if (text === null) call.passage.refuse(Errors.make("service_unavailable", "The usage of this API key cannot be read at the moment.", { retryAfterSeconds: 1 }))
      else tell(options, call, codec, text, startedAt)
    })
  }
})

/** The stage over the limits and quotas of this gateway. */
export const stage = Effect.gen(function*() {
  const configuration = yield* Configuration
  const { fork, now } = yield* Forks
  const { makeResponseId } = yield* Ids
  const limits = yield* Limits
  const quotas = yield* Quotas
  const sources: OwnUsage.ReportSources = { limits, quotas: () => ({ quotas, registry: Registry.builtin, snapshot: configuration.current() }) }
  return make({
    text: (key) => Effect.map(OwnUsage.read(sources, key, now()), OwnUsage.text),
    telemetry: yield* Telemetry, now, makeId: makeResponseId, fork
  })
})

const tell = (options: Options, call: AdmittedCall, codec: ClientCodec, text: string, startedAt: number): void => {
  const { client, head, parsed, tags } = call
  const now = options.now()
  const answer = answerOf(text, now)
  const encoding = { model, includeUsage: head.wantsUsage, request: parsed, makeId: options.makeId, now: () => Math.floor(now / 1_000) }
  const headers = [...GatewayHeaders.common(tags), "X-Gateway-Decision", "strategy=usage-command", "Content-Type", head.stream ? codec.streamType : "application/json"]
  const body = head.stream ? streamOf(answer, codec, encoding) : codec.encodeAnswer(answer, encoding)
  if (head.stream) {
    client.start(200, headers)
    client.end(Buffer.from(body))
  } else client.respond(200, headers, body)
  StageAnswers.answered(options.telemetry, call, { cache: "off", provider: null, model: null, startedAt, now, bytesOut: body.length })
}
