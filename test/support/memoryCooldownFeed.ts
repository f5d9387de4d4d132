/** Nodes of one process that tell each other of cooldowns and lockouts: the double of the Redis feed. */
import * as Effect from "effect/Effect"
import type { Cleared, CooldownFeed, CooldownListener, Locked } from "#src/features/resilience/ports/CooldownFeed.ts"

export class Bus {
  readonly #now: () => number
  readonly #listeners = new Map<CooldownListener, string>()
  readonly #running = new Map<string, { readonly locked: Locked; readonly endsAt: number }>()

  constructor(now: () => number) {
    this.#now = now
  }

  node(name: string): CooldownFeed["Service"] {
    const tell = (what: (listener: CooldownListener) => void): void => {
      for (const [listener, owner] of this.#listeners) if (owner !== name) what(listener)
    }
    return {
      cool: (cooled) => tell((listener) => listener.cooled(cooled)),
      lock: (locked) => {
        const { connectionId, forMs, model, provider } = locked
        const id = JSON.stringify([provider, connectionId, model])
        if (forMs === 0) this.#running.delete(id)
        else this.#running.set(id, { locked, endsAt: this.#now() + forMs })
        tell((listener) => listener.locked(locked))
      },
      clear: (cleared) => {
        for (const [id, { locked }] of this.#running) if (matches(cleared, locked)) this.#running.delete(id)
        tell((listener) => listener.cleared(cleared))
      },
      hear: (listener) => Effect.asVoid(Effect.acquireRelease(
        Effect.sync(() => {
          this.#listeners.set(listener, name)
          for (const { endsAt, locked } of this.#running.values()) if (endsAt > this.#now()) listener.locked({ ...locked, forMs: endsAt - this.#now() })
        }),
        () => Effect.sync(() => this.#listeners.delete(listener))
      ))
    }
  }
}

const matches = ({ connectionId, model, provider }: Cleared, locked: Locked): boolean =>
  (provider === null || provider === locked.provider) && (model === null || model === locked.model) && (connectionId === null || connectionId === locked.connectionId)
