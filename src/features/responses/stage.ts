/**
 * Keeps the response of a request that asks for it (`store: true`), and serves one that is made in the background (`background: true`):
 * its client gets the queued response at once and asks for it again by its id.
 */
import * as Effect from "effect/Effect"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import { Secrets } from "#actors/ports/Secrets.ts"
import type { Client } from "#actors/request/Inbound.ts"
import * as Errors from "#schemas/errors.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { Ids } from "#src/inference/lane/services/Ids.ts"
import type { AdmittedCall, Stage } from "#src/inference/lane/stages/Stages.ts"
import * as Members from "#src/wire/json/members.ts"
import * as ItemTexts from "#src/wire/responses/itemTexts.ts"
import * as EventData from "#src/wire/eventData.ts"
import * as InBackground from "./background/inBackground.ts"
import * as Compaction from "./compaction.ts"
import * as Ended from "./ended.ts"
import { StoredConversations } from "./StoredConversations.ts"
import { StoredResponses } from "./StoredResponses.ts"

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
  const { draining } = yield* Lifecycle
  const { fork, now } = yield* Forks
  const { makeResponseId } = yield* Ids
  const inBackground = InBackground.make({ responses, conversations, fork, now, makeResponseId, draining })

  const kept: Stage["run"] = (call, next) => {
    const items = Ended.inputOf(call)
    const createdAt = now()
    next({ ...call, client: new Keeping(call.client, (response) => {
      const ended = Ended.read(response)
      if (ended === null) return
      Ended.say(conversations, call, items, ended)
      if (call.parsed["store"] !== true || call.key?.policy.noLog === true) return
      responses.keep({
        id: ended.id, keyId: call.key === null ? null : call.key.id, createdAt, status: ended.status,
        input: ItemTexts.list(items).toString("utf8"), response: response.toString("utf8")
      })
    }) })
  }

  return {
    name: "stored responses",
    applies: ({ asked, endpoint, key, parsed }: AdmittedCall) => endpoint === "/v1/responses" &&
      (asked?.inBackground === true || (asked?.conversation ?? null) !== null || (parsed["store"] === true && key?.policy.noLog !== true)),
    run: (call, next) => {
      if (call.asked?.inBackground !== true) kept(call, next)
      else if (call.key?.policy.noLog === true) call.passage.refuse(Errors.make("bad_request", "A response in the background is stored, and nothing of this API key may be (noLog)."))
      else if (call.lease !== undefined) call.passage.refuse(Errors.make("bad_request", "A response under a lease cannot be made in the background."))
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

  /** Kept before it is sent, so that a client that has read the end of a stream finds the response. */
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
