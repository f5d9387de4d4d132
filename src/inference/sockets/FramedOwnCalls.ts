/** The port OwnCalls over the direct routes. */
import { randomUUID } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Bills } from "#src/inference/lane/live/Bills.ts"
import { type OwnAnswer, OwnCalls } from "#src/inference/ports/OwnCalls.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import { FramedExchange } from "#src/platform/server/sockets/FramedExchange.ts"

const broken: OwnAnswer = { status: 502, headers: [], body: "" }

/** Longest answer that is held in memory, bytes: pages of search results and vectors are far below it. */
const LONGEST = 16 * 1_048_576
const tooLong: OwnAnswer = {
  status: 502,
  headers: [],
  body: JSON.stringify({ error: { code: "answer_too_large", message: `The answer is longer than ${LONGEST} bytes, which is the most that the gateway reads of an answer for itself.` } })
}

const nothingPending = (): number => 0

export const layer = Layer.effect(OwnCalls, Effect.gen(function*() {
  const bills = yield* Bills
  const frontEnd = yield* FrontEnd
  /** Under an id of its own, by which its rows are known. */
  const named = (billed: (costUsd: number) => void): ReadonlyArray<string> => {
    const id = randomUUID()
    bills.watch(id, billed)
    return ["x-request-id", id]
  }
  return OwnCalls.of({
    ask: ({ address, billed, body, describes, headers = [], keyHash, path }) => Effect.callback<OwnAnswer>((resume) => {
      const parts: Array<Buffer> = []
      let [begun, held] = [0, 0]
      let head: ReadonlyArray<string> = []
      const finish = (answer: OwnAnswer): void => resume(Effect.succeed(answer))
      const exchange = new FramedExchange(
        {
          method: "POST", path, query: "", headers: ["content-type", "application/json", ...headers, ...billed === undefined ? [] : named(billed)],
          peerAddress: address, remoteAddress: address, actsAs: describes === true ? { keyHash, describes } : { keyHash }
        },
        typeof body === "string" ? Buffer.from(body) : body,
        {
          start: (status, started) => {
            begun = status
            head = started
          },
          bytes: (chunk) => {
            held += chunk.length
            if (held > LONGEST) {
              parts.length = 0
              finish(tooLong)
              // The writer is in the middle of its work: it hears of it afterwards, as of a client that leaves.
              queueMicrotask(() => exchange.abort("client-closed"))
              return false
            }
            parts.push(Buffer.from(chunk))
            return true
          },
          end: () => finish({ status: begun, headers: head, body: Buffer.concat(parts).toString("utf8") }),
          whole: (status, told, bytes) => finish(bytes.length > LONGEST ? tooLong : { status, headers: told, body: Buffer.from(bytes).toString("utf8") }),
          cut: () => finish(broken)
        },
        frontEnd.heldBodies, nothingPending
      )
      frontEnd.serveFramed(exchange)
      return Effect.sync(() => exchange.abort("client-closed"))
    })
  })
}))
