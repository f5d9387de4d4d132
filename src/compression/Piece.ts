/** A text of a conversation, as the engines are given it. */
import type { Role } from "#schemas/words/Compression.ts"

export interface Piece {
  readonly role: Role
  readonly text: string
  /** It is part of a prefix that a vendor caches: no byte of it changes. */
  readonly frozen: boolean
  /** The command whose output it is; null = it is none, or none that is known. */
  readonly command: string | null
}
