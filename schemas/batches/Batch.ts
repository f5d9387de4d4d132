/** A batch: many requests in one file, run one by one in the background. Times are ms since the epoch; null: it did not happen. */
import * as Schema from "effect/Schema"

export const BatchStatus = Schema.Literals(["validating", "failed", "in_progress", "finalizing", "completed", "expired", "cancelling", "cancelled"])
export type BatchStatus = typeof BatchStatus.Type

/** How a batch ends whose files are being written. */
export const BatchEnding = Schema.Literals(["completed", "expired", "failed"])
export type BatchEnding = typeof BatchEnding.Type

/** Something that is wrong with the input. */
export const BatchProblem = Schema.Struct({
  code: Schema.String,
  message: Schema.String,
  /** Number of the line, from 1; null: the file as a whole. */
  line: Schema.NullOr(Schema.Int),
  /** The member that is meant; null: none. */
  param: Schema.NullOr(Schema.String)
})
export interface BatchProblem extends Schema.Schema.Type<typeof BatchProblem> {}

const Time = Schema.NullOr(Schema.Number)

export const BatchState = Schema.Struct({
  status: BatchStatus,
  /** Set while the batch is finalizing. */
  ending: Schema.NullOr(BatchEnding),
  /** Lines of the input; 0 until it was validated. */
  total: Schema.Int,
  completed: Schema.Int,
  failed: Schema.Int,
  problems: Schema.Array(BatchProblem),
  createdAt: Schema.Number,
  expiresAt: Schema.Number,
  inProgressAt: Time,
  finalizingAt: Time,
  completedAt: Time,
  failedAt: Time,
  expiredAt: Time,
  cancellingAt: Time,
  cancelledAt: Time,
  outputFileId: Schema.NullOr(Schema.String),
  errorFileId: Schema.NullOr(Schema.String)
})
export interface BatchState extends Schema.Schema.Type<typeof BatchState> {}

/** Tokens. */
export const BatchUsage = Schema.Struct({ input: Schema.Int, output: Schema.Int, cached: Schema.Int, reasoning: Schema.Int })
export interface BatchUsage extends Schema.Schema.Type<typeof BatchUsage> {}

/** Where the next line begins: all lines before it have their answer. */
export const BatchCursor = Schema.Struct({
  /** Number of that line, from 1. */
  line: Schema.Int,
  /** Its first byte in the input. */
  offset: Schema.Int
})
export interface BatchCursor extends Schema.Schema.Type<typeof BatchCursor> {}

export const BatchRecord = Schema.Struct({
  /** `batch_` and 24 hexadecimal digits. */
  id: Schema.String,
  /** The key that it runs as and that may see it; null: an operator's. */
  ownerKeyId: Schema.NullOr(Schema.String),
  endpoint: Schema.String,
  inputFileId: Schema.String,
  completionWindow: Schema.String,
  /** The model of all lines; null while it is not known, and where they name several. */
  model: Schema.NullOr(Schema.String),
  metadata: Schema.NullOr(Schema.Record(Schema.String, Schema.String)),
  /** Seconds that its files are kept; null: until they are deleted. */
  outputExpiresSeconds: Schema.NullOr(Schema.Int),
  /** From where it was made: keys may be bound to addresses. */
  clientAddress: Schema.String,
  state: BatchState,
  usage: BatchUsage,
  cursor: BatchCursor,
  /** Each change of state and usage adds one. */
  version: Schema.Int
})
export interface BatchRecord extends Schema.Schema.Type<typeof BatchRecord> {}
