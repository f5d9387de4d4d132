/**
 * Large bodies that arrive at the same time share the turns of the loop. A socket is read until it is empty, so that one turn may bring
 * megabytes of each client; when a turn has brought enough, the sockets that were not read yet wait for the next turn.
 */
import { type Enrolled, Roster } from "#src/platform/structures/Roster.ts"

export interface Arriving extends Enrolled {
  /** The rest of this turn belongs to others. */
  readonly waitTurn: () => void
  readonly takeTurn: () => void
}

/** Bytes after which no other socket is read in the same turn; reading them takes some 5 ms. */
export const TURN_BYTES = 2 * 1024 * 1024

export class Arrivals {
  private readonly bodies = new Roster<Arriving>()
  private bytes = 0

  add(body: Arriving): void {
    this.bodies.add(body)
  }

  remove(body: Arriving): void {
    this.bodies.remove(body)
  }

  /** Counts bytes of this turn. The body they belong to reads on: its socket is being read, and its last bytes may follow at once. */
  came(reading: Arriving, bytes: number): void {
    if (bytes === 0) return
    if (this.bytes === 0) setImmediate(this.nextTurn)
    const before = this.bytes
    this.bytes += bytes
    if (before >= TURN_BYTES || this.bytes < TURN_BYTES) return
    for (const body of this.bodies) if (body !== reading) body.waitTurn()
  }

  private readonly nextTurn = (): void => {
    const full = this.bytes >= TURN_BYTES
    this.bytes = 0
    if (full) for (const body of this.bodies) body.takeTurn()
  }
}
