/** One of several processes on a port: its messages to and from its supervisor. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Drain, type FromWorker } from "./messages.ts"

const isDrain = Schema.is(Drain)

/** Sends it to the supervisor; lost when the supervisor has ended. */
export const tell = (message: FromWorker): void => {
  // An ended supervisor has closed the channel, and `drainAsked` notices that.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
}

/** Receives the supervisor's messages until the returned function is called; the channel alone keeps no process alive. */
export const hear = (listener: (message: unknown) => void): () => void => {
  process.on("message", listener)
  process.channel?.unref()
  return () => process.off("message", listener)
}

export const ready = (banner: string): Effect.Effect<void> => Effect.sync(() => tell({ gateway: "ready", banner }))

/** Asks the supervisor to stop the whole gateway; the supervisor answers by draining every worker. */
export const stop = (kind: "restart" | "shutdown"): Effect.Effect<void> => Effect.sync(() => tell({ gateway: "stop", kind }))

/** Ends when the supervisor asks for it, or has ended: nothing else would end this process. */
export const drainAsked: Effect.Effect<void> = Effect.callback<void>((resume) => {
  const done = (): void => resume(Effect.void)
  const message = (value: unknown): void => {
    if (isDrain(value)) done()
  }
  if (process.send !== undefined && !process.connected) return done()
  const deaf = hear(message)
  process.on("disconnect", done)
  return Effect.sync(() => {
    deaf()
    process.off("disconnect", done)
  })
})
