/** What answers of lines make of a batch's record. Pure. */
import * as Batch from "#actors/batch/Batch.ts"
import type { BatchRecord, BatchUsage } from "#schemas/batches/Batch.ts"
import type { LineResult } from "./ports/BatchStore.ts"

const sum = (usage: BatchUsage, results: ReadonlyArray<LineResult>): BatchUsage => results.reduce((all, { usage: one }) => one === null ? all : {
  input: all.input + one.input, output: all.output + one.output, cached: all.cached + one.cached, reasoning: all.reasoning + one.reasoning
}, usage)

/** The record with these answers, none of which it had. */
export const withResults = (record: BatchRecord, results: ReadonlyArray<LineResult>, now: number): BatchRecord => {
  const failed = results.filter((one) => one.failed).length
  const [state] = Batch.step(record.state, { _tag: "LinesEnded", completed: results.length - failed, failed }, now)
  return { ...record, state, usage: sum(record.usage, results), version: record.version + 1 }
}
