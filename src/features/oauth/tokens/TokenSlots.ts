/** What is known in memory about the tokens of all connections, brought in line with the newest configuration. */
import type { Configuration } from "#actors/ports/Configuration.ts"
import type { Provider } from "#schemas/Provider.ts"
import * as Slot from "./Slot.ts"

export class TokenSlots {
  readonly #configuration: Pick<Configuration["Service"], "current">
  readonly #rowOf: (provider: string) => Provider | null
  readonly #slots = new Map<string, Slot.Slot>()

  constructor(configuration: Pick<Configuration["Service"], "current">, rowOf: (provider: string) => Provider | null) {
    this.#configuration = configuration
    this.#rowOf = rowOf
  }

  /** Null for a connection that is gone, or whose token is not exchanged. */
  of(id: string): Slot.Slot | null {
    const snapshot = this.#configuration.current()
    const known = this.#slots.get(id)
    if (known !== undefined && known.version === snapshot.version) return known
    const connection = snapshot.connectionById.get(id)
    if (connection === undefined) {
      this.#slots.delete(id)
      return null
    }
    const secrets = Slot.secretsOf(connection)
    if (known !== undefined && (secrets === known.read || secrets === known.written)) {
      known.version = snapshot.version
      known.read = secrets
      return known
    }
    // Stored or signed in again by another caller: what was known belongs to another credential.
    const fresh = Slot.of(connection, this.#rowOf(connection.provider), snapshot.version)
    if (fresh === null) this.#slots.delete(id)
    else this.#slots.set(id, fresh)
    return fresh
  }

  /** What was known last. */
  get(id: string): Slot.Slot | undefined {
    return this.#slots.get(id)
  }

  forget(id: string): void {
    this.#slots.delete(id)
  }

  /** Forgets connections that are gone. */
  keep(connections: { readonly has: (id: string) => boolean }): void {
    for (const id of this.#slots.keys()) if (!connections.has(id)) this.#slots.delete(id)
  }
}
