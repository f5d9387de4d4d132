/**
 * How old a text of a conversation is, in answers of the model. Ages grow in steps, so that the beginning of a conversation is said the
 * same for some turns: a vendor's cache of prefixes finds it until the next step. Pure.
 */
import type { Piece } from "#src/compression/Piece.ts"

/** Turns of one step. */
export const stepTurns = 4

/** Age of each piece in turns, as of the last whole step; below 0 = newer than that. */
export const agesOf = (pieces: ReadonlyArray<Piece>): ReadonlyArray<number> => {
  const last = pieces.at(-1)?.turn ?? 0
  const step = Math.floor(last / stepTurns) * stepTurns
  return pieces.map(({ turn }) => step - turn)
}
