/**
 * Says in the log which tools each conversation offers, and where they come from (setting logToolSources). It stands behind plugins, which
 * may add tools. While the setting is off, a request costs a comparison.
 */
import * as Effect from "effect/Effect"
import { Configuration } from "#actors/ports/Configuration.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Kind } from "#src/inference/lane/bodies/jobs.ts"
import { Bodies } from "#src/inference/lane/services/Bodies.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { type AdmittedCall, type Stage, wait } from "#src/inference/lane/stages/Stages.ts"
import * as Sources from "./sources.ts"
import type { Question } from "./sourcesJob.ts"

const reading: Kind<Question, Sources.Sources> = { module: new URL("./sourcesJob.ts", import.meta.url).href }

const hasTools = ({ parsed }: AdmittedCall): boolean => parsed["tools"] !== undefined || parsed["functions"] !== undefined

export const stage = Effect.gen(function*() {
  const bodies = yield* Bodies
  const configuration = yield* Configuration
  const { fork } = yield* Forks
  let isOn: boolean | null = null
  yield* Effect.acquireRelease(Effect.sync(() => configuration.onChange(() => {
    isOn = null
  })), (quiet) => Effect.sync(quiet))
  const isOnNow = (): boolean => isOn ??= configuration.current().settings.get("logToolSources") === true

  const note = ({ key, tags: { requestId } }: AdmittedCall, { client, count, mcp, vendor }: Sources.Sources): void => {
    if (count > 0) fork(Effect.logInfo(`tools of the request ${requestId}: ${count}`, { client, vendor, mcp, apiKeyId: key === null ? null : key.id }))
  }

  return {
    name: "tool sources",
    applies: (call) => isOnNow() && call.codec !== null,
    run: (call, next) => {
      const { codec, key, large, parsed } = call
      if (codec === null || !hasTools(call) || key?.policy.noLog === true) return next(call)
      if (large === undefined) {
        note(call, Sources.of(codec.name, parsed))
        return next(call)
      }
      const read = Effect.callback<Sources.Sources | PublicError>((resume) => {
        bodies.ask(reading, { id: large.id, bytes: call.body, format: codec.name }, (said) => resume(Effect.succeed(said)))
      })
      // What cannot be read again is not told.
      wait(call, fork, read, "its tools were read", (said) => {
        if (!(said instanceof PublicError)) note(call, said)
        next(call)
      })
    }
  } satisfies Stage
})
