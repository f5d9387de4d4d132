/**
 * Tells the models of a conversation what is remembered for its API key: the words go with the call, and are put before the client's
 * instructions where the call is encoded. While memory is off, a request costs one comparison.
 */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import type { AdmittedCall, Stage } from "#src/inference/lane/stages/Stages.ts"
import * as Stages from "#src/inference/lane/stages/Stages.ts"
import { type Found, KeyMemories } from "./KeyMemories.ts"
import { questionOf } from "./ranking/question.ts"
import { MemoryVectors } from "./vectors/MemoryVectors.ts"
import type { Vector } from "./vectors/vector.ts"

/** It asks for a summary of what was said, and nothing else. */
const compaction = "/v1/responses/compact"

const counter = (outcome: "told" | "nothing" | "failed") => Metric.counter("gateway_memory_requests_total", {
  description: "Conversations while memory is on, by whether models were told what is remembered for the API key.", attributes: { outcome }, incremental: true
})

/** Callers without a key. */
const keyless = { id: "", keyHash: null }

/** Where entries of one session belong to. */
const sessionOf = ({ tags: { session, sessionTag } }: AdmittedCall): string | null => session ?? sessionTag

export const stage = Effect.gen(function*() {
  const memories = yield* KeyMemories
  const vectors = yield* MemoryVectors
  const { fork, now } = yield* Forks
  const context = yield* Effect.context<never>()
  const [told, nothing, failed] = [counter("told"), counter("nothing"), counter("failed")]

  const go = (call: AdmittedCall, found: Found, next: (call: AdmittedCall) => void): void => {
    const settings = memories.settings()
    if (found === null || found === "unread" || settings === null || call.large !== undefined || vectors.model() === null || !found.wantsVector(sessionOf(call), settings, now())) {
      return tell(call, found, null, next)
    }
    const owner = call.key ?? keyless
    const question = questionOf(call.parsed)
    const known = question === "" ? null : vectors.peek(owner.id, question)
    if (known !== undefined) tell(call, found, known, next)
    else Stages.wait(call, fork, vectors.vectorOf(owner, question), "its question was embedded", (asked) => tell(call, found, asked, next))
  }

  const tell = (call: AdmittedCall, found: Found, asked: Vector | null, next: (call: AdmittedCall) => void): void => {
    if (found === "unread") {
      memories.counts.failed++
      failed.updateUnsafe(1, context)
      return next(call)
    }
    const settings = memories.settings()
    // Of a large body the first message is not at hand.
    const question = () => call.large === undefined ? questionOf(call.parsed) : ""
    const memory = settings === null || found === null ? null : found.text(sessionOf(call), question, settings, now(), asked)
    if (memory === null) {
      memories.counts.misses++
      nothing.updateUnsafe(1, context)
      return next(call)
    }
    memories.counts.hits++
    told.updateUnsafe(1, context)
    next({ ...call, memory })
  }

  return {
    name: "memory",
    // A bare prompt is continued at its end, and has no place for a message before it.
    applies: (call) => memories.settings() !== null && call.codec !== null && call.codec.name !== "completions" && call.endpoint !== compaction,
    run: (call, next) => {
      if (call.request.header("x-gateway-no-memory")?.toLowerCase() === "true") return next(call)
      const apiKeyId = call.key === null ? "" : call.key.id
      const known = memories.peek(apiKeyId)
      if (known !== undefined) go(call, known, next)
      else Stages.wait(call, fork, memories.find(apiKeyId), "what is remembered for its key was read", (found) => go(call, found, next))
    }
  } satisfies Stage
})
