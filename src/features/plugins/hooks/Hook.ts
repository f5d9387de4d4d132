/** The hooks of one plugin that is in force, as requests call them. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type { Plugin, RequestHook } from "#src/features/plugins/ports/Plugin.ts"
import type { Resident } from "#src/platform/sandbox/Resident.ts"
import * as Answers from "./answers.ts"

export interface Hook {
  /** Of the plugin. */
  readonly name: string
  readonly failMode: "open" | "closed"
  /** `input`: JSON. */
  readonly ask: (hook: RequestHook, input: string) => Effect.Effect<Answers.Said>
  /** Something could not be handed to it, or what it said cannot be used. */
  readonly unread: (hook: RequestHook, reason: string) => Effect.Effect<Answers.Said>
}

/** Failures of one plugin are logged once in this time, ms; the metric counts all. */
const LOG_EVERY_MS = 10_000

const calls = (plugin: string, hook: string, outcome: string) => Metric.counter("gateway_plugin_calls_total", {
  description: "Calls of plugins' hooks, by outcome.", attributes: { plugin, hook, outcome }, incremental: true
})

/** What hooks are told beside their input. */
export const contextOf = ({ config, name, version }: Plugin): string => JSON.stringify({ plugin: { name, version }, config })

/** `resident`: what runs it; a text says why nothing does. */
export const make = (plugin: Plugin, resident: Resident | string): Hook => {
  const { manifest: { failMode, hookTimeoutMs }, name } = plugin
  const context = contextOf(plugin)
  let loggedAt = Number.NEGATIVE_INFINITY

  const note = Effect.fnUntraced(function*(hook: RequestHook, said: Answers.Said) {
    yield* Metric.update(calls(name, hook, said._tag.toLowerCase()), 1)
    if (said._tag !== "Failed") return said
    const now = yield* Clock.currentTimeMillis
    if (now - loggedAt >= LOG_EVERY_MS) {
      loggedAt = now
      yield* Effect.logWarning(`Plugin ${name}: ${hook} failed: ${said.reason}`)
    }
    return said
  })

  return {
    name, failMode,
    ask: (hook, input) => Effect.flatMap(
      typeof resident === "string"
        ? Effect.succeed(Answers.failed(resident))
        : resident.call({ name: hook, input, context, timeoutMs: hookTimeoutMs }).pipe(
          Effect.map((outcome) => Answers.read(hook, outcome, hookTimeoutMs)),
          Effect.catchTag("Unsealed", ({ message }) => Effect.succeed(Answers.failed(message))),
          // A request must not stand still by it.
          Effect.catchDefect((defect) => Effect.succeed(Answers.failed(String(defect))))
        ),
      (said) => note(hook, said)
    ),
    unread: (hook, reason) => note(hook, Answers.failed(reason))
  }
}
