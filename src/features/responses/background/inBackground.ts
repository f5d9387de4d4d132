/**
 * Serves a request whose response is made in the background: its client gets the queued response once that is stored, and the request
 * goes on without it. What ends it is stored under the same id.
 */
import * as Effect from "effect/Effect"
import { headerOf } from "#actors/request/ports/Upstream.ts"
import type { Client } from "#actors/request/Inbound.ts"
import * as Errors from "#schemas/errors.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as GatewayHeaders from "#src/inference/lane/gatewayHeaders.ts"
import type { AdmittedCall, Fork } from "#src/inference/lane/stages/Stages.ts"
import * as PreviousResponses from "#src/inference/ports/PreviousResponses.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Splice from "#src/wire/json/splice.ts"
import * as ItemTexts from "#src/wire/responses/itemTexts.ts"
import * as ResponseObject from "#src/wire/responses/responseObject.ts"
import * as Ended from "#src/features/responses/ended.ts"
import type { StoredConversations } from "#src/features/responses/StoredConversations.ts"
import { type StoredResponses, withStatus } from "#src/features/responses/StoredResponses.ts"
import * as BackgroundRequest from "./BackgroundRequest.ts"

export interface Options {
  readonly responses: StoredResponses["Service"]
  readonly conversations: Pick<StoredConversations["Service"], "note">
  readonly fork: Fork
  /** ms since the epoch. */
  readonly now: () => number
  readonly makeResponseId: () => string
  /** This process is stopping: what it does not finish is another one's. */
  readonly draining: () => boolean
}

export const make = ({ conversations, draining, fork, makeResponseId, now, responses }: Options) => {
  const begin = (call: AdmittedCall, next: (call: AdmittedCall) => void): void => {
    const id = `resp_${makeResponseId()}`
    const createdAt = now()
    const seconds = Math.floor(createdAt / 1000)
    const { model } = call.head
    const frame = ResponseObject.frameOf(
      id, { id, model, createdAt: seconds, serviceTier: null, systemFingerprint: null }, model, seconds, { ...call.parsed, ...PreviousResponses.namesOf(call.asked) }
    )
    const started = ResponseObject.responseJson(frame, { status: "in_progress", error: null, incomplete: null, completedAt: null, output: [], usage: null })
      .replace("\"background\":false", "\"background\":true")
    const response = {
      id, keyId: call.key === null ? null : call.key.id, createdAt, status: "in_progress", input: ItemTexts.list(Ended.inputOf(call)).toString("utf8"), response: started
    } as const
    fork(Effect.match(responses.begin(response, BackgroundRequest.of(call)), {
      onFailure: () => call.passage.refuse(Errors.make("service_unavailable", "A response in the background is stored, and that is not possible at the moment.", { retryAfterSeconds: 1 })),
      onSuccess: () => {
        call.client.respond(200, [...GatewayHeaders.common(call.tags), "Content-Type", "application/json"], withStatus(started, "queued"))
        goOn(call, id, next)
      }
    }))
  }

  /** Makes a response that is stored as begun. */
  const goOn = (call: AdmittedCall, id: string, next: (call: AdmittedCall) => void): void => {
    let leave: (() => void) | null = null
    let cancelled = false
    const making = responses.making(id, () => {
      cancelled = true
      leave?.()
    })
    if (making === null) return call.client.close()
    const items = Ended.inputOf(call)
    // At a stop it stays unfinished, for the next process.
    const fail = (code: string, message: string): void => {
      if (!draining()) responses.finish(id, "failed", withStatus(making.response, "failed", { code, message }))
    }
    const keep = (response: Buffer): void => {
      const ended = Ended.read(response)
      if (ended === null) return fail("server_error", "The answer is no finished response.")
      const own = Splice.edit(response, ended.parsed, [{ key: "id", value: JSON.stringify(id) }, { key: "background", value: "true" }]) ?? response
      responses.finish(id, ended.status, own.toString("utf8"), () => Ended.say(conversations, call, items, ended))
    }
    next({
      ...call,
      client: new BackgroundClient(keep, fail),
      passage: {
        refuse: (error) => {
          call.passage.refuse(error)
          fail(error.code, error.message)
        },
        onGone: () => undefined
      },
      // Only a cancellation ends the request.
      detached: (end) => {
        leave = end
        if (cancelled) end()
      }
    })
  }

  return (call: AdmittedCall, next: (call: AdmittedCall) => void): void => {
    const makes = call.asked?.makes ?? null
    if (makes === null) return begin(call, next)
    // The client waits for a sign that its request was taken.
    call.client.respond(200, [], "")
    goOn(call, makes, next)
  }
}

/** The client of a request that is made in the background. */
class BackgroundClient implements Client {
  private readonly keep: (response: Buffer) => void
  private readonly fail: (code: string, message: string) => void

  constructor(keep: (response: Buffer) => void, fail: (code: string, message: string) => void) {
    this.keep = keep
    this.fail = fail
  }

  start(): void {}

  relay(): boolean {
    return true
  }

  onDrain(): void {}

  end(): void {}

  respond(status: number, headers: ReadonlyArray<string>, body: Uint8Array | string): void {
    const bytes = Buffer.from(body)
    if (StatusReason.isOk(status)) return this.keep(bytes)
    const said = Json.parseRecord(bytes.toString("utf8"))
    const error = said === null ? null : Json.recordAt(said, "error")
    const retryAfter = headerOf(headers, "retry-after")
    this.fail(typeof error?.["code"] === "string" ? error["code"] : "server_error",
      `${typeof error?.["message"] === "string" ? error["message"] : "The request failed."}${retryAfter === undefined ? "" : ` Retry after ${retryAfter} s.`}`)
  }

  close(): void {
    this.fail("server_error", "The answer broke off.")
  }
}
