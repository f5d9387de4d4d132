/** The protocol's own dialects, versions 0.3 and 1.0, by the official SDK: one function from a frame to its answer. */
import { AgentCard } from "@a2a-js/sdk"
import { LegacyJsonRpcTransportHandler } from "@a2a-js/sdk/compat/v0_3/server"
import { JsonRpcTransportHandler, ServerCallContext } from "@a2a-js/sdk/server"
import * as Effect from "effect/Effect"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import { UrlGuard } from "#actors/ports/UrlGuard.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as Cards from "#src/features/a2a/cards.ts"
import type { Desk } from "#src/features/a2a/Desk.ts"
import { A2aTaskStore } from "#src/features/a2a/ports/A2aTaskStore.ts"
import { A2aHandler } from "./A2aHandler.ts"
import * as Beats from "./beats.ts"
import * as Frames from "./frames.ts"
import * as Receivers from "./Receivers.ts"

export interface EngineRequest {
  /** The parsed frame. */
  readonly frame: Record<string, unknown>
  readonly id: Frames.Id
  readonly version: typeof Cards.protocolVersions[number]
  readonly base: string
}

export interface Engine {
  /** `left`: tells the desk that the client has gone. */
  readonly ask: (request: EngineRequest, desk: Desk, left: () => void) => Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal.Refusal>
}

const isStream = (answer: unknown): answer is AsyncGenerator<unknown> => typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer

/** Where the error of a stream becomes the words of its version. */
const errorOf = (version: EngineRequest["version"], error: unknown): unknown =>
  version === "1.0" ? JsonRpcTransportHandler.mapToJSONRPCError(error) : LegacyJsonRpcTransportHandler.mapToLegacyJSONRPCError(error)

export const make = (beats: Beats.Beats) => Effect.gen(function*() {
  const guard = yield* UrlGuard
  const store = yield* A2aTaskStore
  const context = yield* Effect.context<never>()

  const ask: Engine["ask"] = ({ base, frame, id, version }, desk, left) => Effect.gen(function*() {
    let refusal: Refusal.Refusal | null = null
    const handler = new A2aHandler({
      card: AgentCard.fromJSON(Cards.newest(base)), desk, receivers: Receivers.make(guard, store, version), context,
      refuse: (given) => {
        refusal ??= given
      }
    })
    const call = new ServerCallContext({ user: { isAuthenticated: true, userName: desk.owner }, requestedVersion: version })
    const transport = version === "1.0" ? new JsonRpcTransportHandler(handler) : new LegacyJsonRpcTransportHandler(handler)
    const refused = (): Effect.Effect<never, Refusal.Refusal> | null => refusal === null ? null : Effect.fail(refusal)
    const answer: unknown = yield* Effect.promise(() => transport.handle(frame, call))
    if (!isStream(answer)) return yield* refused() ?? Effect.succeed(Frames.reply(answer))
    // What is wrong with the request shows with the first event; until then the answer is no stream.
    const first = yield* Effect.promise(() => answer.next().then((event) => ({ event, error: null }), (error: unknown) => ({ event: null, error })))
    if (first.event === null) return yield* refused() ?? Effect.succeed(Frames.reply({ jsonrpc: "2.0", id, error: errorOf(version, first.error) }))
    return Beats.response(events(first.event, answer, (error) => ({ jsonrpc: "2.0", id, error: errorOf(version, error) })), beats, left)
  })
  const engine: Engine = { ask }
  return engine
})

async function* events(first: IteratorResult<unknown>, rest: AsyncGenerator<unknown>, failed: (error: unknown) => unknown): AsyncGenerator<string> {
  try {
    if (first.done !== true) yield Frames.event(first.value)
    for await (const event of rest) yield Frames.event(event)
  } catch (error) {
    yield Frames.errorEvent(failed(error))
  }
}
