/**
 * Looks at the tools that a conversation offers: a denied one is noted, or the request refused. It stands behind plugins, which may add
 * tools. While nothing is denied, a request costs a comparison.
 */
import * as Effect from "effect/Effect"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Kind } from "#src/inference/lane/bodies/jobs.ts"
import { Bodies } from "#src/inference/lane/services/Bodies.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { type AdmittedCall, type Stage, wait } from "#src/inference/lane/stages/Stages.ts"
import * as Policy from "./policy.ts"
import type { Question } from "./readJob.ts"

const reading: Kind<Question, ReadonlyArray<string>> = { module: new URL("./readJob.ts", import.meta.url).href }

const FLAG = "TOOL_POLICY_MODE"

const refusal = (names: ReadonlyArray<string>): PublicError => Errors.make(
  "tool_denied", `Tools that the operator denies: ${names.join(", ")}. Leave them out (setting deniedTools, flag ${FLAG}).`, { extra: { param: "tools" } }
)

export const stage = Effect.gen(function*() {
  const bodies = yield* Bodies
  const configuration = yield* Configuration
  const flags = yield* Flags
  const { fork } = yield* Forks
  let policy: Policy.Policy | null | undefined
  yield* Effect.acquireRelease(Effect.sync(() => configuration.onChange(() => {
    policy = undefined
  })), (quiet) => Effect.sync(quiet))
  const policyNow = (): Policy.Policy | null => policy === undefined ? policy = Policy.of(configuration.current().settings, flags.value(FLAG)) : policy

  const decide = (call: AdmittedCall, { mode }: Policy.Policy, names: ReadonlyArray<string>, next: (call: AdmittedCall) => void): void => {
    if (names.length === 0) return next(call)
    const { key, passage, tags: { requestId } } = call
    const isBlocked = mode === "block"
    fork(Effect.logWarning(`denied tools in the request ${requestId}${isBlocked ? ", which was refused" : ""}`, { tools: names, apiKeyId: key === null ? null : key.id }))
    if (isBlocked) passage.refuse(refusal(names))
    else next(call)
  }

  return {
    name: "tool policy",
    applies: (call) => policyNow() !== null && call.codec !== null,
    run: (call, next) => {
      const { codec, large, parsed } = call
      const of = policyNow()
      if (of === null || codec === null) return next(call)
      if (large === undefined) return decide(call, of, Policy.deniedIn(of, codec.name, parsed), next)
      const read = Effect.callback<ReadonlyArray<string> | PublicError>((resume) => {
        bodies.ask(reading, { id: large.id, bytes: call.body, format: codec.name, policy: of }, (said) => resume(Effect.succeed(said)))
      })
      wait(call, fork, read, "its tools were read", (said) => {
        if (said instanceof PublicError) call.passage.refuse(said)
        else decide(call, of, said, next)
      })
    }
  } satisfies Stage
})
