/**
 * Tells clients of conversations more prompt tokens than were used (setting usageTokenBuffer), so that agents compact early. It stands in
 * front of all that keeps or counts answers, which know the real numbers. While nothing is added, a request costs one comparison.
 */
import * as Effect from "effect/Effect"
import { Configuration } from "#actors/ports/Configuration.ts"
import type { Client } from "#actors/request/Inbound.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import type { Stage } from "#src/inference/lane/stages/Stages.ts"
import * as ToldUsage from "#src/wire/contextWindow/toldUsage.ts"

/** Tokens that clients are told of beside those that were used; 0 = none. */
export const tokensIn = (settings: ReadonlyMap<string, unknown>): number => {
  const tokens = settings.get("usageTokenBuffer")
  return typeof tokens === "number" ? tokens : 0
}

export const stage = Effect.gen(function*() {
  const configuration = yield* Configuration
  let tokens = tokensIn(configuration.current().settings)
  yield* Effect.acquireRelease(Effect.sync(() => configuration.onChange(() => {
    tokens = tokensIn(configuration.current().settings)
  })), (quiet) => Effect.sync(quiet))

  return {
    name: "usage buffer",
    applies: (call) => tokens > 0 && call.codec !== null,
    run: (call, next) => next(call.codec === null ? call : { ...call, client: new BufferedClient(call.client, call.codec.name, tokens) })
  } satisfies Stage
})

const streamed = /^(?:text\/event-stream|application\/x-ndjson)\b/i

const isStream = (headers: ReadonlyArray<string>): boolean => {
  const at = headers.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === "content-type")
  return at !== -1 && streamed.test(headers[at + 1] ?? "")
}

const bytesOf = (body: Uint8Array | string): Uint8Array => typeof body === "string" ? Buffer.from(body) : body

/** A client that is given whole events, with more tokens in them. */
class BufferedClient implements Client {
  readonly #client: Client
  readonly #format: FormatName
  readonly #tokens: number

  constructor(client: Client, format: FormatName, tokens: number) {
    this.#client = client
    this.#format = format
    this.#tokens = tokens
  }

  start(status: number, headers: ReadonlyArray<string>): void {
    this.#client.start(status, headers)
  }

  relay(chunk: Uint8Array): boolean {
    return this.#client.relay(ToldUsage.inEvents(this.#format, this.#tokens, chunk))
  }

  onDrain(listener: () => void): void {
    this.#client.onDrain(listener)
  }

  end(chunk?: Uint8Array | string): void {
    this.#client.end(chunk === undefined ? chunk : ToldUsage.inEvents(this.#format, this.#tokens, bytesOf(chunk)))
  }

  respond(status: number, headers: ReadonlyArray<string>, body: Uint8Array | string): void {
    if (!StatusReason.isOk(status)) return this.#client.respond(status, headers, body)
    const within = isStream(headers) ? ToldUsage.inEvents : ToldUsage.inAnswer
    this.#client.respond(status, headers, within(this.#format, this.#tokens, bytesOf(body)))
  }

  close(): void {
    this.#client.close()
  }
}
