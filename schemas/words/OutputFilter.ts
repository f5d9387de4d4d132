/** A filter for output of commands that an operator adds. */
import * as Schema from "effect/Schema"
import { integer, listOf, text } from "#schemas/api/fields.ts"

/** Matched against one line each, in linear time. */
const patterns = listOf(text(1, 200), 10)
const lines = integer(0, 100_000)

export const OutputFilter = Schema.Struct({
  id: text(1, 60).check(Schema.isPattern(/^[a-z0-9][a-z0-9-]*$/, { message: "Expected small letters, digits and hyphens" })),
  label: text(0, 100), description: text(0, 1_000), category: text(0, 60),
  /** Of two filters that match as many words, the higher one is taken. */
  priority: integer(0, 1_000),
  match: Schema.Struct({
    outputTypes: listOf(text(1, 60), 10),
    /** Program and subcommands. */
    commands: listOf(text(1, 200), 20).check(Schema.isMinLength(1)),
    /** Lines by which an output without its command is known. */
    patterns
  }),
  rules: Schema.Struct({
    /** Where there are any, other lines go. */
    includePatterns: patterns, dropPatterns: patterns,
    /** Of lines one after the other that match the same one, the first stands for all. */
    collapsePatterns: patterns,
    deduplicate: Schema.Boolean,
    /** Lines that are kept; 0 = the setting maxLinesPerResult. headLines and tailLines together. */
    maxLines: lines, headLines: lines, tailLines: lines
  }),
  /** Lines that always stay. */
  preserve: Schema.Struct({ errorPatterns: patterns, summaryPatterns: patterns }),
  /** What it does to an output, with the default settings. */
  tests: listOf(Schema.Struct({ name: text(0, 100), command: text(1, 2_000), input: text(0, 2_000), expected: text(0, 2_000) }), 5)
}).annotate({ identifier: "OutputFilter" })
export interface OutputFilter extends Schema.Schema.Type<typeof OutputFilter> {}
