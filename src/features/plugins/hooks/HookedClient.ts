/** In front of the client of one conversation: a whole answer, and an error after its request was sent on, go through the hooks first. Streams pass as they are. */
import * as Effect from "effect/Effect"
import type { Client } from "#actors/request/Inbound.ts"
import { LARGE_BYTES } from "#schemas/largeBodies.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import type { Fork } from "#src/inference/lane/stages/Stages.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import * as Json from "#src/wire/json/json.ts"
import type { ClientCodec } from "#src/wire/WireFormat.ts"
import type { InForce } from "#src/features/plugins/Plugins.ts"
import * as Refusals from "./refusals.ts"

export interface Options {
  readonly client: Client
  readonly codec: ClientCodec
  /** In the order in which they are called: of answers, and of errors. */
  readonly hooks: Pick<InForce, "onResponse" | "onError">
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
    const { client, codec, fork, hooks } = this.#options
    const hook = StatusReason.isOk(status) ? "onResponse" : "onError"
    if (hooks[hook].length === 0 || !isJson(headers)) return client.respond(status, headers, body)
    fork(Effect.map(this.#read(hook, status, typeof body === "string" ? Buffer.from(body) : asBuffer(body)), (read) => {
      if (Buffer.isBuffer(read)) client.respond(status, headers, read)
      else client.respond(Refusals.failed(read).status, headers, codec.errorBody(Refusals.failed(read)))
    }))
  }

  /** What the client is told, or the plugin that lets nothing pass when it fails. */
  #read(name: "onResponse" | "onError", status: number, bytes: Buffer): Effect.Effect<Buffer | string> {
    const { about, hooks } = this.#options
    const rest = name === "onError" ? `${about},"status":${status}` : about
    return Effect.gen(function*() {
      let left = bytes
      for (const hook of hooks[name]) {
        const text = left.length > LARGE_BYTES ? null : left.toString("utf8")
        const said = text === null || Json.parseRecord(text) === null
          ? yield* hook.unread(name, text === null ? "the answer is too large" : "the answer is no JSON object")
          : yield* hook.ask(name, `{"body":${text},${rest}}`)
        if (said._tag === "Changed") left = Buffer.from(JSON.stringify(said.body))
        // An error lets nothing pass anyway.
        else if (said._tag === "Failed" && hook.failMode === "closed" && name === "onResponse") return hook.name
      }
      return left
    })
  }
}

const isJson = (headers: ReadonlyArray<string>): boolean => {
  const at = headers.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === "content-type")
  return at === -1 || /^application\/(?:[\w.-]+\+)?json\b/i.test(headers[at + 1] ?? "")
}
