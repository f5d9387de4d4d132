/** The body of a wire call: bytes in memory, or pieces of which some are stored elsewhere and read when they are sent. */

/** Bytes that are not in memory. */
export interface Stored {
  /** Bytes. */
  readonly length: number
  /**
   * Fills `into` with bytes from `at` on. Calls `done` once, later, with how many it read, which is 0 at the end alone. `into` belongs to
   * the reader until then. To be called only while the bytes are held.
   */
  readonly read: (at: number, into: Uint8Array, done: (failure: Error | null, bytes: number) => void) => void
  /** Keeps the bytes until the answer is called; null when they are gone already. */
  readonly hold: () => (() => void) | null
}

export type Piece = Uint8Array | Stored

/** Whether a piece lies on the disk. */
export const isStored = (piece: Piece): piece is Stored => !(piece instanceof Uint8Array)

/** Pieces in their order, which may be sent as often as is wanted while they are held. */
export class Pieces {
  readonly list: ReadonlyArray<Piece>
  /** Bytes of all of them. */
  readonly length: number

  constructor(list: ReadonlyArray<Piece>) {
    this.list = list
    this.length = list.reduce((sum, piece) => sum + piece.length, 0)
  }

  /** Keeps all of them readable until the answer is called; null when one is gone. */
  hold(): (() => void) | null {
    const held: Array<() => void> = []
    for (const piece of this.list) {
      const release = isStored(piece) ? piece.hold() : null
      if (release !== null) held.push(release)
      else if (isStored(piece)) {
        for (const other of held) other()
        return null
      }
    }
    return () => {
      for (const release of held.splice(0)) release()
    }
  }
}

export type Body = Uint8Array | Pieces
