/** Whether an answer may be given to the client: not when it is empty, or breaks a combo's `responseValidation`. Pure. */
import type { ComboConfig } from "#schemas/records/Combo.ts"

/** A complete answer as rules read it. */
export interface AnswerView {
  /** The model's text, of all choices; without its reasoning. */
  readonly content: string
  /** It calls a tool. */
  readonly calls: boolean
  /** It holds nothing at all: no text, no reasoning, no tool call, no medium. */
  readonly empty: boolean
  /** The JSON body that a client gets when it does not stream. */
  readonly document: () => unknown
}

/** Reads a stream into a view beside the tap that forwards it. */
export interface AnswerReader {
  /** The bytes are borrowed: valid until it returns. */
  readonly push: (chunk: Uint8Array) => void
  /** Null when the stream could not be understood. */
  readonly end: () => AnswerView | null
  /** Nothing more will be fed. */
  readonly close: () => void
}

export interface AnswerCheck {
  /** The rules need the whole answer: a stream is held until its end. False when only an empty answer is refused. */
  readonly holds: boolean
  /** The rules that it was made of, for a thread that makes it anew. */
  readonly rules: ComboConfig["responseValidation"]
  /** Name of the first rule that the answer breaks, never its content; null when it may go. */
  readonly broken: (view: AnswerView) => string | null
}

/** A combo without rules: an answer that is empty is none. */
export const notEmpty: AnswerCheck = { holds: false, rules: undefined, broken: ({ empty }) => empty ? "notEmpty" : null }
