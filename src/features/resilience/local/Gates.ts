/** Calls in flight per gate: a model of a combo with a cap of its own. */
import type { ModelGate } from "#actors/request/ports/Target.ts"

/** The queue before one. */
export const lineOf = (id: string): string => `gate ${id}`

export class Gates {
  readonly #used = new Map<string, { running: number; max: number }>()

  enter({ id, max }: ModelGate): void {
    const known = this.#used.get(id)
    if (known === undefined) this.#used.set(id, { running: 1, max })
    else {
      known.running++
      known.max = max
    }
  }

  leave(id: string): void {
    const known = this.#used.get(id)
    if (known !== undefined && --known.running <= 0) this.#used.delete(id)
  }

  isFull({ id, max }: ModelGate): boolean {
    return (this.#used.get(id)?.running ?? 0) >= max
  }

  used(): ReadonlyArray<{ readonly id: string; readonly running: number; readonly max: number }> {
    return Array.from(this.#used, ([id, { max, running }]) => ({ id, running, max }))
  }

  clear(): void {
    this.#used.clear()
  }
}
