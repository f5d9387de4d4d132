/** A text of a conversation, as the engines are given it. */
import type { Role } from "#schemas/words/Compression.ts"

/** One call of a tool. */
export interface Called {
  /** Its arguments, parsed or as JSON. */
  readonly input: unknown
}

export interface Piece {
  readonly role: Role
  readonly text: string
  /** It is part of a prefix that a vendor caches: no byte of it changes. */
  readonly frozen: boolean
  /** The command whose output it is; null = it is none, or none that is known. */
  readonly command: string | null
  /** Name of the tool whose result it is; null = it is none, or its call is not known. */
  readonly tool: string | null
  /** How many answers of the model begin before it: each with its calls is one. */
  readonly turn: number
  /** The call whose result it is; absent or null = it is none, or none that is sure. */
  readonly called?: Called | null
  /** The tool said that it failed: only what shortens failures may touch it. */
  readonly failed?: boolean
}
