/**
 * The life of one batch: a pure transition over what its record says. Nothing here knows lines, files or stores; the runner does what
 * the intents say, and writes the state that came back before it acts on it.
 */

import type { BatchEnding, BatchProblem, BatchState, BatchStatus } from "#schemas/batches/Batch.ts"

export type BatchEvent =
  /** The runner asks what is to be done; also the event of time that passes. */
  | { readonly _tag: "Turn" }
  /** The input has so many lines, and each can be run. */
  | { readonly _tag: "Validated"; readonly total: number }
  /** The input cannot be run. */
  | { readonly _tag: "Invalid"; readonly problems: ReadonlyArray<BatchProblem> }
  /** So many further lines have their answer. */
  | { readonly _tag: "LinesEnded"; readonly completed: number; readonly failed: number }
  /** The input is gone while lines wait. */
  | { readonly _tag: "InputLost"; readonly problem: BatchProblem }
  | { readonly _tag: "Cancel" }
  /** The files hold every line that ended; null: there was none of the kind. */
  | { readonly _tag: "Written"; readonly outputFileId: string | null; readonly errorFileId: string | null }

/** What the runner does next. `fail-rest`: the lines that were not run become errors. */
export type Intent = "validate" | "run-lines" | "fail-rest" | "write"

export type BatchStep = readonly [state: BatchState, intents: ReadonlyArray<Intent>]

const terminal: ReadonlySet<BatchStatus> = new Set(["failed", "completed", "expired", "cancelled"])

/** Nothing happens to it any more. */
export const isOver = ({ status }: Pick<BatchState, "status">): boolean => terminal.has(status)

/** A batch whose file is about to be read; `windowMs`: how long it may take. */
export const made = (createdAt: number, windowMs: number): BatchState => ({
  status: "validating", ending: null, total: 0, completed: 0, failed: 0, problems: [], createdAt, expiresAt: createdAt + windowMs,
  inProgressAt: null, finalizingAt: null, completedAt: null, failedAt: null, expiredAt: null, cancellingAt: null, cancelledAt: null,
  outputFileId: null, errorFileId: null
})

/** Lines that have their answer. */
export const answered = ({ completed, failed }: Pick<BatchState, "completed" | "failed">): number => completed + failed

/** Lines that have no answer yet. */
export const waiting = (state: Pick<BatchState, "completed" | "failed" | "total">): number => Math.max(0, state.total - answered(state))

const finalizing = (state: BatchState, ending: BatchEnding, now: number): BatchState => ({ ...state, status: "finalizing", ending, finalizingAt: now })

const failed = (state: BatchState, problems: ReadonlyArray<BatchProblem>, now: number): BatchState => ({ ...state, status: "failed", problems, failedAt: now })

/** What is to be done in this state. */
const duties = (state: BatchState): ReadonlyArray<Intent> => {
  switch (state.status) {
    case "validating":
      return ["validate"]
    case "in_progress":
      return ["run-lines"]
    case "finalizing":
      return state.ending === "expired" && waiting(state) > 0 ? ["fail-rest", "write"] : ["write"]
    case "cancelling":
      return ["write"]
    case "failed":
    case "completed":
    case "expired":
    case "cancelled":
      return []
  }
}

const counted = (state: BatchState, completed: number, failures: number): BatchState =>
  ({ ...state, completed: state.completed + completed, failed: state.failed + failures })

const after = (state: BatchState, event: BatchEvent, now: number): BatchState => {
  switch (event._tag) {
    case "Turn":
      if (now < state.expiresAt) return state
      // Of an input that was never read there is nothing to write.
      if (state.status === "validating") return { ...state, status: "expired", expiredAt: now }
      return state.status === "in_progress" ? finalizing(state, "expired", now) : state
    case "Validated":
      return state.status === "validating" ? { ...state, status: "in_progress", total: event.total, inProgressAt: now } : state
    case "Invalid":
      return state.status === "validating" ? failed(state, event.problems, now) : state
    case "LinesEnded": {
      if (isOver(state) || state.status === "validating") return state
      const next = counted(state, event.completed, event.failed)
      return next.status === "in_progress" && waiting(next) === 0 ? finalizing(next, "completed", now) : next
    }
    case "InputLost":
      if (state.status === "validating") return failed(state, [event.problem], now)
      return state.status === "in_progress" ? { ...finalizing(state, "failed", now), problems: [event.problem] } : state
    case "Cancel":
      return state.status === "validating" || state.status === "in_progress" ? { ...state, status: "cancelling", cancellingAt: now } : state
    case "Written": {
      const { errorFileId, outputFileId } = event
      const written = { ...state, outputFileId, errorFileId }
      if (state.status === "cancelling") return { ...written, status: "cancelled", cancelledAt: now }
      if (state.status !== "finalizing") return state
      switch (state.ending) {
        case "expired":
          return { ...written, status: "expired", ending: null, expiredAt: now }
        case "failed":
          return { ...written, status: "failed", ending: null, failedAt: now }
        case "completed":
        case null:
          return { ...written, status: "completed", ending: null, completedAt: now }
      }
    }
  }
}

/** One step; an event that does not fit the state changes nothing. */
export const step = (state: BatchState, event: BatchEvent, now: number): BatchStep => {
  const next = after(state, event, now)
  return [next, duties(next)]
}
