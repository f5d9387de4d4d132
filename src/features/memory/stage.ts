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
import { MemoryReranker } from "./models/MemoryReranker.ts"
import { questionOf } from "./ranking/question.ts"
import type { Remembered, Said } from "./ranking/Remembered.ts"
import { MemoryVectors } from "./vectors/MemoryVectors.ts"
import type { Vector } from "./vectors/vector.ts"

/** It asks for a summary of what was said, and nothing else. */
const compaction = "/v1/responses/compact"

const counter = (outcome: "told" | "nothing" | "failed") => Metric.counter("gateway_memory_requests_total", {
  description: "Conversations while memory is on, by whether models were told what is remembered for the API key.", attributes: { outcome }, incremental: true
})

/** Callers without a key. */
const keyless = { id: "", keyHash: null }

const nothingSaid: Said = { asked: null, scores: null }

/** Where entries of one session belong to. */
const sessionOf = ({ tags: { session, sessionTag } }: AdmittedCall): string | null => session ?? sessionTag

export const stage = Effect.gen(function*() {
  const memories = yield* KeyMemories
  const reranker = yield* MemoryReranker
  const vectors = yield* MemoryVectors
  const { fork, now } = yield* Forks
  const context = yield* Effect.context<never>()
  const [told, nothing, failed] = [counter("told"), counter("nothing"), counter("failed")]

  /** Whether a model may have a say. */
  const isAsked = () => vectors.model() !== null || reranker.model() !== null

  const go = (call: AdmittedCall, found: Found, next: (call: AdmittedCall) => void): void => {
    const settings = memories.settings()
    if (found === null || found === "unread" || settings === null || call.large !== undefined || !isAsked() || !found.isChosen(sessionOf(call), settings, now())) {
      return tell(call, found, nothingSaid, next)
    }
    const owner = call.key ?? keyless
    const question = questionOf(call.parsed)
    if (question === "") return tell(call, found, nothingSaid, next)
    const known = vectors.model() !== null && found.wantsVector(sessionOf(call), settings, now()) ? vectors.peek(owner.id, question) : null
    const ranked = (asked: Vector | null): void => rank(call, found, question, asked, next)
    if (known !== undefined) ranked(known)
    else Stages.wait(call, fork, vectors.vectorOf(owner, question), "its question was embedded", ranked)
  }

  const rank = (call: AdmittedCall, found: Remembered, question: string, asked: Vector | null, next: (call: AdmittedCall) => void): void => {
    const settings = memories.settings()
    if (reranker.model() === null || settings === null) return tell(call, found, { asked, scores: null }, next)
    const owner = call.key ?? keyless
    const candidates = found.candidates(sessionOf(call), question, settings, now(), asked)
    const known = candidates.length < 2 ? null : reranker.peek(owner.id, question, candidates)
    if (known !== undefined) tell(call, found, { asked, scores: known }, next)
    else Stages.wait(call, fork, reranker.scoresOf(owner, question, candidates), "its memories were ranked", (scores) => tell(call, found, { asked, scores }, next))
  }

  const tell = (call: AdmittedCall, found: Found, said: Said, next: (call: AdmittedCall) => void): void => {
    if (found === "unread") {
      memories.counts.failed++
      failed.updateUnsafe(1, context)
      return next(call)
    }
    const settings = memories.settings()
    // Of a large body the first message is not at hand.
    const question = () => call.large === undefined ? questionOf(call.parsed) : ""
    const memory = settings === null || found === null ? null : found.text(sessionOf(call), question, settings, now(), said)
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
