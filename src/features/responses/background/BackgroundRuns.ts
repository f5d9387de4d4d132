/**
 * Keeps the responses in the background alive: this process says which ones it makes, and makes those again whose process died. A
 * response is asked for again in the name of its key, under its own request id, with what its record says.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import * as Supervisor from "#actors/Supervisor.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as KeyActors from "#src/inference/lane/services/keyActors.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import { FramedExchange } from "#src/platform/server/sockets/FramedExchange.ts"
import * as Json from "#src/wire/json/json.ts"
import type { BackgroundResponse } from "#src/features/responses/ResponseStore.ts"
import { StoredResponses, withStatus } from "#src/features/responses/StoredResponses.ts"
import * as BackgroundRequest from "./BackgroundRequest.ts"

/** How often a process says that it still makes its responses, and looks for those of others, ms. */
const ROUND_MS = 5_000
/** A response that outlived none of so many processes is not made again. */
const MOST_RUNS = 3
/** Responses that one round takes over. */
const TAKE = 16
const nothingPending = (): number => 0

export const layer = Layer.effectDiscard(Effect.gen(function*() {
  const responses = yield* StoredResponses
  const frontEnd = yield* FrontEnd
  const lifecycle = yield* Lifecycle
  const actorOf = yield* KeyActors.make

  const isStopping = (): boolean => lifecycle.draining() || frontEnd.draining

  const again = Effect.fnUntraced(function*(response: BackgroundResponse) {
    const fail = (code: string, message: string): void =>
      responses.finish(response.id, "failed", withStatus(response.response, "failed", { code, message }))
    const request = BackgroundRequest.read(response)
    if (request === null) return fail("server_error", "The gateway stopped while it made this response.")
    if (response.run > MOST_RUNS) return fail("server_error", `${MOST_RUNS} processes of the gateway stopped while they made this response.`)
    const actsAs = yield* actorOf(response.keyId)
    const { conversation, headers, previous, remoteAddress, requestId } = request
    /** It was refused before it was taken. */
    const refused = (status: number, body: string): void => {
      if (StatusReason.isOk(status)) return
      if (isStopping()) return responses.leave(response.id)
      const error = Json.recordAt(Json.parseRecord(body) ?? {}, "error")
      fail(typeof error?.["code"] === "string" ? error["code"] : "server_error", typeof error?.["message"] === "string" ? error["message"] : "The request was refused.")
    }
    frontEnd.serveFramed(new FramedExchange(
      {
        method: "POST", path: "/v1/responses", query: "", peerAddress: remoteAddress, remoteAddress, actsAs,
        headers: ["content-type", "application/json", "x-request-id", requestId, ...headers],
        continues: { conversation, makes: response.id, ...(previous === null ? {} : { previous }) }
      },
      BackgroundRequest.bodyOf(request, response),
      {
        start: () => {}, bytes: () => true, end: () => {}, cut: () => {},
        whole: (status, _headers, body) => refused(status, Buffer.from(body).toString("utf8"))
      },
      frontEnd.heldBodies, nothingPending
    ))
  })

  const takeOver = Effect.gen(function*() {
    if (!lifecycle.ready() || isStopping()) return
    const taken = yield* responses.takeOver(TAKE)
    yield* Effect.forEach(taken, (response) => Effect.tapCause(again(response), () => Effect.sync(() => responses.leave(response.id))), { discard: true })
  })

  yield* Supervisor.loop("background responses", Effect.delay(
    Effect.andThen(responses.touch, takeOver).pipe(Effect.catchTag("StoreError", (error) => Effect.logWarning(`Background responses could not be noted: ${error.message}`))),
    ROUND_MS
  ))
}))
