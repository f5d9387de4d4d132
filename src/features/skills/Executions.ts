/** Runs skills, a few at once, and keeps what became of each run. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as JsonShape from "./jsonShape.ts"
import type { Skill, SkillExecution } from "./ports/Skill.ts"
import { type ExecutionEnd, type ExecutionFilter, SkillExecutionStore } from "./ports/SkillExecutionStore.ts"
import * as Sandbox from "#src/platform/sandbox/Sandbox.ts"

/** Sandboxes of this process at once; each may take 256 MB. */
const AT_ONCE = 2
/** Executions that are kept. */
const KEPT = 1_000
/** A run that is still open so long after its end was due lost its gateway, ms. */
const LOST_MS = 60_000
const LOST = "The gateway that ran it ended."
/** Characters of a message that are kept. */
const MESSAGE_MAX = 2_000

export interface Asked {
  readonly skill: Skill
  readonly apiKeyId: string
  readonly sessionId: string | null
  readonly input: Schema.Json
}

export class Executions extends Context.Service<Executions, {
  /** Fails while skills are off. */
  readonly ready: Effect.Effect<void, Refusal.Refusal>
  /** What goes wrong with the handler is the execution's outcome. */
  readonly run: (asked: Asked) => Effect.Effect<SkillExecution, Refusal.Refusal | StoreError>
  readonly list: (filter: ExecutionFilter) => Effect.Effect<{ readonly executions: ReadonlyArray<SkillExecution>; readonly total: number }, StoreError>
}>()("gateway/skills/Executions") {}

export interface Options {
  /** GATEWAY_SKILLS: without it nothing runs. */
  readonly isOn: boolean
  /** GATEWAY_SKILLS_TIMEOUT_MS. */
  readonly timeoutMs: number
}

const decode = Schema.decodeUnknownExit(Schema.fromJsonString(Schema.Json))
const failed = (message: string): ExecutionEnd => ({ status: "error", output: null, errorMessage: message.slice(0, MESSAGE_MAX), durationMs: null })

/** What the sandbox says is as little trusted as the handler. */
const endOf = (outcome: Sandbox.Outcome, { schema }: Skill, timeoutMs: number): ExecutionEnd => {
  if (outcome._tag === "TimedOut") return { ...failed(`The handler did not end within ${timeoutMs} ms.`), status: "timeout" }
  if (outcome._tag === "Failed") return failed(outcome.message)
  const output = decode(outcome.json)
  if (Exit.isFailure(output)) return failed("The handler's output is no JSON.")
  const misfit = JsonShape.misfitOf(schema.output, output.value)
  return misfit === null
    ? { status: "success", output: output.value, errorMessage: null, durationMs: null }
    : failed(`The output does not fit the skill's schema: ${misfit}`)
}

export const make = Effect.fnUntraced(function*({ isOn, timeoutMs }: Options) {
  const store = yield* SkillExecutionStore
  const random = yield* SecureRandom.SecureRandom
  let running = 0

  const settleLost = Effect.flatMap(Clock.currentTimeMillis, (now) => store.abandon(new Date(now - timeoutMs - LOST_MS).toISOString(), LOST))

  const run = Effect.fn("Executions.run")(function*({ apiKeyId, input, sessionId, skill }: Asked) {
    const startedAt = yield* Clock.currentTimeMillis
    const execution: SkillExecution = {
      id: yield* random.uuidV4(), skillId: skill.id, apiKeyId, sessionId, input, output: null, status: "pending", errorMessage: null, durationMs: null,
      createdAt: new Date(startedAt).toISOString()
    }
    const job: Sandbox.Job = {
      code: skill.handler, input: JSON.stringify(input),
      context: JSON.stringify({ executionId: execution.id, skill: { id: skill.id, name: skill.name, version: skill.version }, apiKeyId, sessionId })
    }
    const end = Effect.fnUntraced(function*(end: ExecutionEnd) {
      const ended = { ...end, durationMs: Math.round((yield* Clock.currentTimeMillis) - startedAt) }
      yield* store.end(execution.id, ended)
      return { ...execution, ...ended }
    })
    yield* settleLost
    yield* store.insert(execution)
    yield* store.trim(KEPT)
    const outcome = yield* Sandbox.run(job, timeoutMs, store.begin(execution.id)).pipe(
      Effect.catchTag("Unsealed", ({ message }) => Effect.andThen(
        end(failed(message)),
        Effect.fail(Refusal.unavailable(`Skills cannot run here: ${message}`, { code: "SKILLS_UNAVAILABLE" }))
      )),
      // A caller that leaves ends its run. A record that cannot be written here is settled as a lost one.
      Effect.onInterrupt(() => Effect.ignore(end(failed("The caller left."))))
    )
    return yield* end(endOf(outcome, skill, timeoutMs))
  })

  return Executions.of({
    ready: isOn ? Effect.void : Effect.fail(Refusal.unavailable("Skills are off: set GATEWAY_SKILLS to on", { code: "SKILLS_DISABLED" })),
    list: (filter) => Effect.andThen(settleLost, store.list(filter)),
    run: (asked) => Effect.suspend(() => {
      if (running >= AT_ONCE) return Effect.fail(Refusal.tooManyRequests(`${AT_ONCE} skills are running on this node: wait until one has ended`, 1))
      running++
      return Effect.ensuring(run(asked), Effect.sync(() => {
        running--
      }))
    })
  })
})

export const layer = (options: Options) => Layer.effect(Executions, make(options)).pipe(Layer.provide(SecureRandom.layerWebCrypto))
