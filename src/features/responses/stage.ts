/**
 * Keeps the response of a request that asks for it (`store: true`), and serves one that is made in the background (`background: true`):
 * its client gets the queued response at once and asks for it again by its id.
 */
import * as Effect from "effect/Effect"
import { Secrets } from "#actors/ports/Secrets.ts"
import { headerOf } from "#actors/request/ports/Upstream.ts"
import type { Client } from "#actors/request/Inbound.ts"
import * as Errors from "#schemas/errors.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as GatewayHeaders from "#src/inference/lane/gatewayHeaders.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { Ids } from "#src/inference/lane/services/Ids.ts"
import type { AdmittedCall, Stage } from "#src/inference/lane/stages/Stages.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Members from "#src/wire/json/members.ts"
import * as Splice from "#src/wire/json/splice.ts"
import * as Items from "#src/wire/responses/itemTexts.ts"
import * as ResponseObject from "#src/wire/responses/responseObject.ts"
import * as EventData from "#src/wire/eventData.ts"
import * as Compaction from "./compaction.ts"
import type { Status } from "./ResponseStore.ts"
import { StoredConversations } from "./StoredConversations.ts"
import { StoredResponses } from "./StoredResponses.ts"

const ended: ReadonlySet<string> = new Set(["completed", "incomplete", "failed"])
const last = /"type":\s*"response\.(?:completed|incomplete|failed)"/
/** The type stands among the first bytes of an event. */
const TYPE_WITHIN = 256

/** Makes answers to POST /v1/responses/compact. */
export const compaction = Effect.gen(function*() {
  const { now } = yield* Forks
  const { makeResponseId } = yield* Ids
  return Compaction.stage({ secrets: yield* Secrets, now, makeId: makeResponseId })
})

export const stage = Effect.gen(function*() {
  const responses = yield* StoredResponses
  const conversations = yield* StoredConversations
  const { now } = yield* Forks
  const { makeResponseId } = yield* Ids

  const keepOf = (call: AdmittedCall, ownId: string | null) => {
    const items = Items.ofInput(Members.of(call.body)?.get("input")) ?? Buffer.alloc(0)
    const input = Items.list(items).toString("utf8")
    const conversation = call.asked?.conversation ?? null
    const isStored = ownId !== null || call.parsed["store"] === true
    const same = { keyId: call.key === null ? null : call.key.id, createdAt: now(), input }
    return {
      same,
      /** `response`: the JSON text of a finished response object. */
      keep: (response: Buffer): void => {
        const parsed = Json.parseRecord(response.toString("utf8"))
        const id = ownId ?? parsed?.["id"]
        const status = parsed?.["status"]
        if (parsed === null || typeof id !== "string" || typeof status !== "string" || !ended.has(status)) return
        if (conversation !== null && status !== "failed") {
          const asked = Items.each(items).slice(conversation.known).map((item) => JSON.parse(item.toString("utf8")) as unknown)
          conversations.note(conversation.id, [...asked, ...Array.isArray(parsed["output"]) ? parsed["output"] : []])
        }
        if (!isStored) return
        const named = ownId === null ? response : Splice.edit(Buffer.from(response), parsed, [{ key: "id", value: JSON.stringify(id) }, { key: "background", value: "true" }]) ?? response
        responses.keep({ ...same, id, status: status as Status, response: Buffer.from(named).toString("utf8") })
      }
    }
  }

  const kept: Stage["run"] = (call, next) => {
    const { keep } = keepOf(call, null)
    next({ ...call, client: new Keeping(call.client, keep) })
  }

  const inBackground: Stage["run"] = (call, next) => {
    const id = `resp_${makeResponseId()}`
    const { keep, same } = keepOf(call, id)
    const seconds = Math.floor(same.createdAt / 1000)
    const { model } = call.head
    const frame = ResponseObject.frameOf(id, { id, model, createdAt: seconds, serviceTier: null, systemFingerprint: null }, model, seconds, call.parsed)
    const object = (status: "in_progress" | "failed", error: { readonly code: string; readonly message: string } | null): string => ResponseObject
      .responseJson(frame, { status, error, incomplete: null, completedAt: null, output: [], usage: null }).replace("\"background\":false", "\"background\":true")
    const queued = object("in_progress", null).replace("\"status\":\"in_progress\"", "\"status\":\"queued\"")
    const fail = (code: string, message: string): void => responses.keep({ ...same, id, status: "failed", response: object("failed", { code, message }) })
    let leave: (() => void) | null = null
    let cancelled = false
    responses.making({ ...same, id, status: "queued", response: queued }, () => {
      cancelled = true
      leave?.()
    })
    call.client.respond(200, [...GatewayHeaders.common(call.tags), "Content-Type", "application/json"], queued)
    next({
      ...call,
      client: new Background(keep, fail),
      refuse: (error) => {
        call.refuse(error)
        if (!cancelled) fail(error.code, error.message)
      },
      onGone: () => undefined,
      // Its client has its answer: only a cancellation ends the request.
      onLeft: (end) => {
        leave = end
        if (cancelled) end()
      }
    })
  }

  return {
    name: "stored responses",
    applies: ({ asked, endpoint, key, parsed }: AdmittedCall) => endpoint === "/v1/responses" &&
      (asked?.inBackground === true || (asked?.conversation ?? null) !== null || (parsed["store"] === true && key?.policy.noLog !== true)),
    run: (call, next) => {
      if (call.asked?.inBackground !== true) kept(call, next)
      else if (call.key?.policy.noLog === true) call.refuse(Errors.make("bad_request", "A response in the background is stored, and nothing of this API key may be (noLog)."))
      else if (call.lease !== undefined) call.refuse(Errors.make("bad_request", "A response under a lease cannot be made in the background."))
      else inBackground(call, next)
    }
  } satisfies Stage
})

/** Looks at an answer on its way to the client, and keeps it when it is whole. */
class Keeping implements Client {
  private readonly client: Client
  private readonly keep: (response: Buffer) => void
  private events: ReturnType<typeof EventData.scanner> | null = null

  constructor(client: Client, keep: (response: Buffer) => void) {
    this.client = client
    this.keep = keep
  }

  start(status: number, headers: ReadonlyArray<string>): void {
    this.events = EventData.scanner((data) => {
      if (!last.test(data.toString("latin1", 0, TYPE_WITHIN))) return
      const response = Members.of(data)?.get("response")
      if (response !== undefined) this.keep(response)
    })
    this.client.start(status, headers)
  }

  /** Kept before it is sent: who has read the end of a stream finds the response. */
  relay(chunk: Uint8Array): boolean {
    if (this.events?.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)) === false) this.events = null
    return this.client.relay(chunk)
  }

  onDrain(listener: () => void): void {
    this.client.onDrain(listener)
  }

  end(chunk?: Uint8Array | string): void {
    if (chunk !== undefined) this.events?.push(Buffer.from(chunk))
    this.events?.flush()
    this.client.end(chunk)
  }

  respond(status: number, headers: ReadonlyArray<string>, body: Uint8Array | string): void {
    if (StatusReason.isOk(status)) this.keep(Buffer.from(body))
    this.client.respond(status, headers, body)
  }

  close(): void {
    this.events?.close()
    this.client.close()
  }
}

/** The client of a request that is made in the background. */
class Background implements Client {
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
