/** Ids of requests, attempts and responses: unique over nodes and restarts. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import * as RequestIds from "#schemas/protocols/requestIds.ts"
import { makeResponseId } from "./responseId.ts"

export class Ids extends Context.Service<Ids, {
  readonly nodeId: string
  readonly makeRequestId: () => string
  readonly makeAttemptId: () => string
  /** The unique part of a response id: 24 characters that no other response has. */
  readonly makeResponseId: () => string
}>()("gateway/lane/Ids") {}

export const layer = Layer.effect(Ids, Effect.map(Lifecycle, ({ nodeId, startedAt }) => {
  const process = `${nodeId}-${startedAt.toString(36)}`
  const prefix = `${process}-`
  let sequence = 0
  return {
    nodeId,
    makeAttemptId: () => prefix + (++sequence).toString(36),
    makeRequestId: () => RequestIds.make(process, ++sequence),
    makeResponseId
  }
}))
