/**
 * The ProviderProbe port over real upstreams: the model list first, a one-token chat where there is none.
 *
 * The URL guard looks at the target before the first byte leaves; every failure is a diagnosis, never an error.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Configuration } from "#actors/ports/Configuration.ts"
import { type Candidate, type Diagnosis, type ProbeResult, ProviderProbe } from "#src/features/providers/ports/ProviderProbe.ts"
import type { UpstreamFailure } from "#actors/request/ports/Upstream.ts"
import { UrlGuard } from "#actors/ports/UrlGuard.ts"
import { builtin } from "#src/providers/Registry.ts"
import * as Answers from "./answers.ts"
import * as WireCalls from "./wireCalls.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as ControlCalls from "#src/platform/upstream/egress/ControlCalls.ts"
import * as SmallAnswer from "#src/platform/upstream/egress/smallAnswer.ts"

/** One probe with all its calls ends within this time (ms). */
const PROBE_MS = 30_000
/** Bytes of an answer that are read. */
const ANSWER_MAX = 4 * 1024 * 1024

const timeouts = { connect: 5_000, headers: 20_000, firstEvent: 0, idle: 10_000, total: 25_000 }

const tooLarge: UpstreamFailure = {
  _tag: "UpstreamFailure", reason: "protocol", phase: "total", source: "upstream", retry: "never", message: "The answer is larger than 4 MiB"
}

export const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const guard = yield* UrlGuard
  const calls = yield* ControlCalls.make

  const send = (call: WireCalls.WireCall, { connection, provider }: Candidate): Effect.Effect<SmallAnswer.SmallAnswer, UpstreamFailure> => SmallAnswer.read(
    ANSWER_MAX,
    (handler) => calls.dispatch({ provider, connection: connection ?? null }, {
      origin: call.endpoint.origin, path: call.endpoint.path, method: call.method, headers: call.endpoint.headers, body: call.body, timeouts
    }, handler),
    { failed: (failure) => failure, tooLarge: () => tooLarge }
  )

  const callsOf = (candidate: Candidate): WireCalls.Calls | null => {
    const snapshot = configuration.current()
    const node = candidate.node ?? snapshot.nodeById.get(candidate.provider)
    if (node !== undefined) return WireCalls.ofNode(node, candidate)
    const row = builtin.byId.get(candidate.provider)
    return row === undefined ? null : WireCalls.ofProvider(row, candidate, row.baseUrl === "" ? snapshot.simulatorUrl : null)
  }

  /** The simulator is ours: its loopback address needs no permission. */
  const isOwn = (origin: string): boolean => {
    const own = configuration.current().simulatorUrl
    return own !== null && new URL(own).origin === origin
  }

  type Outcome = Omit<ProbeResult, "latencyMs">

  const refused = (diagnosis: Diagnosis, statusCode: number | null = null, method: ProbeResult["method"] = null, blocked = false): Outcome =>
    ({ valid: false, statusCode, diagnosis, method, models: null, blocked })

  const ask = Effect.fnUntraced(function*(call: WireCalls.WireCall, candidate: Candidate) {
    const { origin } = call.endpoint
    if (!isOwn(origin)) {
      const blocked = yield* Effect.match(guard.check(origin, "provider"), { onSuccess: () => null, onFailure: (error) => error })
      if (blocked !== null) {
        return refused({ type: "network_error", source: "validation", code: blocked.reason, message: blocked.message }, null, null, blocked.reason !== "unresolvable")
      }
    }
    return yield* Effect.match(send(call, candidate), {
      onFailure: (failure) => refused(Answers.ofFailure(failure), null, call.probe, failure.reason === "blocked-url"),
      onSuccess: ({ body, status }): Outcome => {
        if (!StatusReason.isOk(status)) {
          const credential = candidate.credential === null ? null : Redacted.value(candidate.credential)
          return refused(Answers.ofStatus(status, body, credential, candidate.authType === "oauth"), status, call.probe)
        }
        const models = call.probe === "models" ? Answers.modelsIn(body) : null
        if (call.probe === "models" && models === null) {
          return refused({ type: "upstream_error", source: "upstream", code: "no_model_list", message: "The answer is no model list" }, status, "models")
        }
        return { valid: true, statusCode: status, diagnosis: null, method: call.probe, models, blocked: false }
      }
    })
  })

  /** The list is missing, or what answers under its path is something else. */
  const hasNoList = (outcome: Outcome): boolean =>
    outcome.method === "models" && ((outcome.statusCode !== null && StatusReason.isMissing(outcome.statusCode)) || outcome.diagnosis?.code === "no_model_list")

  const run = Effect.fnUntraced(function*(candidate: Candidate) {
    const calls = callsOf(candidate)
    if (calls === null) return refused(Answers.unsupported(`No test exists for provider ${candidate.provider}`))
    let listed: Outcome | null = null
    if (candidate.wants !== "chat" && !("_tag" in calls.models)) {
      listed = yield* ask(calls.models, candidate)
      if (!hasNoList(listed)) return listed
    }
    if ("_tag" in calls.chat) return listed ?? refused(Answers.unsupported(calls.chat.message))
    return yield* ask(calls.chat, candidate)
  })

  return ProviderProbe.of({
    probe: Effect.fn("ProviderProbe.probe")(function*(candidate) {
      const before = yield* Clock.currentTimeMillis
      const outcome = yield* run(candidate).pipe(
        Effect.timeoutOrElse({
          duration: PROBE_MS,
          orElse: () => Effect.succeed(refused({ type: "network_error", source: "upstream", code: "timeout", message: "The test took longer than 30 s" }))
        }),
        Effect.catchCause((cause) => Cause.hasInterrupts(cause)
          ? Effect.interrupt
          : Effect.as(
            Effect.logError("provider probe failed", cause),
            refused({ type: "runtime_error", source: "local", code: "internal", message: "The test could not be run" })
          ))
      )
      return { ...outcome, latencyMs: (yield* Clock.currentTimeMillis) - before }
    })
  })
})

export const layer = Layer.effect(ProviderProbe, make)
