/** In front of the client of one conversation: a whole answer goes through the hooks first. Streams and errors pass as they are. */
import * as Effect from "effect/Effect"
import type { Client } from "#actors/request/Inbound.ts"
import { LARGE_BYTES } from "#schemas/largeBodies.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import type { Fork } from "#src/inference/lane/stages/Stages.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import * as Json from "#src/wire/json/json.ts"
import type { ClientCodec } from "#src/wire/WireFormat.ts"
import type { Hook } from "./Hook.ts"
import * as Refusals from "./refusals.ts"

export interface Options {
  readonly client: Client
  readonly codec: ClientCodec
  /** In the order in which they are called. */
  readonly hooks: ReadonlyArray<Hook>
  /** Members of the hooks' input beside the body: JSON without its braces. */
  readonly about: string
  readonly fork: Fork
}

export class HookedClient implements Client {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  start(status: number, headers: ReadonlyArray<string>): void {
    this.#options.client.start(status, headers)
  }

  relay(chunk: Uint8Array): boolean {
    return this.#options.client.relay(chunk)
  }

  onDrain(listener: () => void): void {
    this.#options.client.onDrain(listener)
  }

  end(chunk?: Uint8Array | string): void {
    this.#options.client.end(chunk)
  }

  close(): void {
    this.#options.client.close()
  }

  respond(status: number, headers: ReadonlyArray<string>, body: Uint8Array | string): void {
    const { client, codec, fork } = this.#options
    if (!StatusReason.isOk(status) || !isJson(headers)) return client.respond(status, headers, body)
    fork(Effect.map(this.#read(typeof body === "string" ? Buffer.from(body) : asBuffer(body)), (read) => {
      if (Buffer.isBuffer(read)) client.respond(status, headers, read)
      else client.respond(Refusals.failed(read).status, headers, codec.errorBody(Refusals.failed(read)))
    }))
  }

  /** What the client is told, or the plugin that lets nothing pass when it fails. */
  #read(bytes: Buffer): Effect.Effect<Buffer | string> {
    const { about, hooks } = this.#options
    return Effect.gen(function*() {
      let left = bytes
      for (const hook of hooks) {
        const text = left.length > LARGE_BYTES ? null : left.toString("utf8")
        const said = text === null || Json.parseRecord(text) === null
          ? yield* hook.unread("onResponse", text === null ? "the answer is too large" : "the answer is no JSON object")
          : yield* hook.ask("onResponse", `{"body":${text},${about}}`)
        if (said._tag === "Changed") left = Buffer.from(JSON.stringify(said.body))
        else if (said._tag === "Failed" && hook.failMode === "closed") return hook.name
      }
      return left
    })
  }
}

const isJson = (headers: ReadonlyArray<string>): boolean => {
  const at = headers.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === "content-type")
  return at === -1 || /^application\/(?:[\w.-]+\+)?json\b/i.test(headers[at + 1] ?? "")
}
