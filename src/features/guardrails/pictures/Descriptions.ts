/**
 * What pictures show, in the words of the operator's bridge model: asked for in the name of the request's key, as calls of that key with
 * rows, limits and costs of their own, and remembered for a while. A picture that is not described costs the request nothing but its sight.
 */
import * as Effect from "effect/Effect"
import * as StatusReason from "#schemas/statusReason.ts"
import type { ConversationCall } from "#src/inference/lane/stages/Stages.ts"
import * as OwnCalls from "#src/inference/ports/OwnCalls.ts"
import { ExpiringMemory } from "#src/platform/structures/ExpiringMemory.ts"
import type { Bridge } from "./bridge.ts"
import * as Questions from "./questions.ts"

/** Questions of one request that are asked at once. */
const AT_ONCE = 4
/** Characters of a description; the rest is cut. */
const LONGEST = 16_000
/** Descriptions that a node remembers, for how long, and their characters together. */
const KEPT = { entries: 200, ttlMs: 3_600_000, size: 1_000_000, each: LONGEST }

/** What came of one question. */
export type Description =
  | { readonly _tag: "Described"; readonly text: string; readonly isNew: boolean; readonly costUsd: number }
  /** `why`: for the log. */
  | { readonly _tag: "Unavailable"; readonly why: string; readonly costUsd: number }

const failed = (why: string, costUsd = 0): Description => ({ _tag: "Unavailable", why, costUsd })

export interface Descriptions {
  /** In the order of the questions; never fails. */
  readonly of: (call: ConversationCall, bridge: Bridge, questions: ReadonlyArray<Questions.Question>) => Effect.Effect<ReadonlyArray<Description>>
}

export const make = (ask: OwnCalls.OwnCalls["Service"]["ask"], now: () => number): Descriptions => {
  const known = new ExpiringMemory<string>(now, KEPT, ({ length }) => length)

  const one = ({ codec, key, request, tags }: ConversationCall, { timeoutMs }: Bridge) => ({ body, digest, path }: Questions.Question) => Effect.suspend((): Effect.Effect<Description> => {
    const name = `${key === null ? "" : key.id}\n${digest}`
    const held = known.get(name)
    if (held !== null) return Effect.succeed({ _tag: "Described", text: held, isNew: false, costUsd: 0 })
    const headers = ["x-request-id", tags.requestId, "x-gateway-no-memory", "true", ...tags.sessionTag === null ? [] : ["x-gateway-session-id", tags.sessionTag]]
    const question = { path, body, describes: true, keyHash: key === null ? null : key.keyHash, address: request.remoteAddress, headers }
    return Effect.map(Effect.timeoutOption(ask(question), timeoutMs), (said): Description => {
      if (said._tag === "None") return failed(`no answer within ${timeoutMs} ms`)
      const costUsd = OwnCalls.costOf(said.value)
      if (!StatusReason.isOk(said.value.status)) return failed(`status ${said.value.status}`, costUsd)
      const text = Questions.answerIn(codec.name, said.value.body).slice(0, LONGEST)
      if (text === "") return failed("the answer has no text", costUsd)
      // Nothing of a key with noLog is kept.
      if (key?.policy.noLog !== true) known.put(name, text)
      return { _tag: "Described", text, isNew: true, costUsd }
    })
  })

  return { of: (call, bridge, questions) => Effect.forEach(questions, one(call, bridge), { concurrency: AT_ONCE }) }
}
