/** One of several processes on a port, as it speaks with its supervisor. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Drain, type FromWorker } from "./messages.ts"

const isDrain = Schema.is(Drain)

/** Says it to the supervisor; nobody hears it when that is gone. */
export const tell = (message: FromWorker): void => {
  // A supervisor that is gone has closed the channel, and its end is heard by `drainAsked`.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
}

/** Hears what the supervisor says until the answered function is called; the channel alone keeps no process alive. */
export const hear = (listener: (message: unknown) => void): () => void => {
  process.on("message", listener)
  process.channel?.unref()
  return () => process.off("message", listener)
}

export const ready = (banner: string): Effect.Effect<void> => Effect.sync(() => tell({ gateway: "ready", banner }))

/** Passes on that the whole gateway shall stop; the supervisor answers by letting every worker drain. */
export const stop = (kind: "restart" | "shutdown"): Effect.Effect<void> => Effect.sync(() => tell({ gateway: "stop", kind }))

/** Ends when the supervisor asks for it, or is gone: nobody else would end this process. */
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
