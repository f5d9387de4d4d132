import type { Arrivals } from "#src/platform/server/uws/Arrivals.ts"
import type { HeldBytes } from "#src/platform/structures/HeldBytes.ts"
import type { BodyReader } from "./BodyReader.ts"
import type { OverflowHost } from "./Overflow.ts"

/** The owner of the socket decides about pausing it. */
export interface BodyOwner {
  /** The first part arrived and it is not all. */
  readonly bodyPartial: () => void
  /** Counts what is held. */
  readonly heldBytes: HeldBytes
  /** Where bodies go that come faster than they are taken. */
  readonly overflow: OverflowHost
  /** Where large bodies share the turns of the loop. */
  readonly arrivals: Arrivals
  /** The whole body has come and its socket was resumed, which started the native timeout: it must not end the wait for the answer. */
  readonly bodyRearms: () => void
  /** More than `READ_AHEAD_BYTES` are held and no consumer waits for them. */
  readonly bodyAhead: (reader: BodyReader) => void
  /** The consumer threw. */
  readonly defect: (error: unknown) => void
}
