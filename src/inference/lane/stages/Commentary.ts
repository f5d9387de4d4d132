/**
 * Takes commentary out of answers of the responses format (flag RESPONSES_PASSTHROUGH_DROP_COMMENTARY). It stands behind all that keeps
 * answers, so that none of them has what its client was not given. Other formats have no such items.
 */
import * as Effect from "effect/Effect"
import { Flags } from "#actors/ports/Flags.ts"
import type { Client } from "#actors/request/Inbound.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import type { Stage } from "#src/inference/lane/stages/Stages.ts"
import * as Commentary from "#src/wire/responses/stream/commentary.ts"

export const stage = Effect.map(Flags, (flags): Stage => ({
  name: "commentary",
  applies: ({ codec, format }) => format === "responses" && codec !== null && flags.isOn("RESPONSES_PASSTHROUGH_DROP_COMMENTARY"),
  run: (call, next) => next({ ...call, client: new UncommentedClient(call.client) })
}))

const nothing = new Uint8Array(0)

class UncommentedClient implements Client {
  readonly #client: Client
  readonly #stream = new Commentary.StreamWithoutCommentary()
  /** The client took what was written last. */
  #isTaken = true

  constructor(client: Client) {
    this.#client = client
  }

  start(status: number, headers: ReadonlyArray<string>): void {
    this.#client.start(status, headers)
  }

  relay(chunk: Uint8Array): boolean {
    const left = this.#stream.push(chunk)
    if (left === null) {
      this.close()
      return false
    }
    if (left.length > 0) this.#isTaken = this.#client.relay(left)
    return this.#isTaken
  }

  onDrain(listener: () => void): void {
    this.#client.onDrain(() => {
      this.#isTaken = true
      listener()
    })
  }

  end(chunk?: Uint8Array | string): void {
    const last = this.#stream.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk ?? nothing)
    if (last === null) return this.close()
    const left = Buffer.concat([last, this.#stream.end()])
    this.#client.end(left.length === 0 ? undefined : left)
  }

  respond(status: number, headers: ReadonlyArray<string>, body: Uint8Array | string): void {
    this.#client.respond(status, headers, StatusReason.isOk(status) ? Commentary.ofResponse(typeof body === "string" ? Buffer.from(body) : body) : body)
  }

  close(): void {
    this.#stream.close()
    this.#client.close()
  }
}
