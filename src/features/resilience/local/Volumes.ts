/** What limited connections used, in this node's memory. A connection without these limits has no entry. */
import * as Volume from "#actors/resilience/Volume.ts"

interface Entry {
  state: Volume.State
  /** The number of nodes for which its day was read; 0 = it was not read. */
  readFor: number
  /** What was settled while a reading is under way; null while none is. */
  late: Array<{ readonly tokens: number; readonly at: number }> | null
}

export class Volumes {
  readonly #entries = new Map<string, Entry>()

  fullOf(connectionId: string, rules: Volume.VolumeRules, inFlight: number, now: number): Volume.Full | null {
    return Volume.fullOf(this.#entries.get(connectionId)?.state ?? Volume.idle, rules, inFlight, now)
  }

  spent(connectionId: string, tokens: number, at: number): void {
    const entry = this.#entry(connectionId)
    entry.state = Volume.spent(entry.state, tokens, at)
    entry.late?.push({ tokens, at })
  }

  isReadFor(connectionId: string, nodes: number): boolean {
    return this.#entries.get(connectionId)?.readFor === nodes
  }

  /** Answers what takes the slots of the day, or null when they could not be read. */
  begin(connectionId: string, nodes: number): (slots: ReadonlyArray<Volume.DaySlot> | null) => void {
    const entry = this.#entry(connectionId)
    entry.late = []
    return (slots) => {
      const late = entry.late ?? []
      entry.late = null
      if (slots === null) return
      entry.readFor = nodes
      entry.state = late.reduce(
        // The minute has counted it already.
        (state, { at, tokens }) => ({ ...Volume.spent(state, tokens, at), minuteTokens: state.minuteTokens, perCall: state.perCall }),
        Volume.read(entry.state, slots, nodes)
      )
    }
  }

  /** Forgets the connections that are no longer limited. */
  keep(isLimited: (connectionId: string) => boolean): void {
    for (const id of this.#entries.keys()) if (!isLimited(id)) this.#entries.delete(id)
  }

  #entry(connectionId: string): Entry {
    const known = this.#entries.get(connectionId)
    if (known !== undefined) return known
    const entry: Entry = { state: Volume.idle, readFor: 0, late: null }
    this.#entries.set(connectionId, entry)
    return entry
  }
}
