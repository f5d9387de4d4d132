/**
 * Whether a stored value acts. A field that a client may store either acts, and its row names the file that reads it, or it is
 * inert, and every value but its neutral one is refused. Nothing is stored in silence.
 */
import type * as Schema from "effect/Schema"
import type { FeatureName } from "#schemas/acting/features.ts"

export type Row =
  | {
    readonly acts: true
    /** File of this repository that reads the field. */
    readonly where: string
  }
  | {
    readonly acts: false
    /** What clients may still send: the value that asks for nothing. */
    readonly neutral: Schema.Json
    /** The feature that the field is part of and that is not built. */
    readonly lacks: FeatureName
  }

/** Rows by dotted path below a record; `*` stands for any one name. */
export type Rows = Readonly<Record<string, Row>>

export const actsIn = (where: string): Row => ({ acts: true, where })

/** Several fields that one file reads. */
export const actIn = <const Names extends string>(where: string, ...names: ReadonlyArray<Names>): Readonly<Record<Names, Row>> =>
  Object.fromEntries(names.map((name) => [name, actsIn(where)])) as Record<Names, Row>

export const lacks = (feature: FeatureName, neutral: Schema.Json = null): Row => ({ acts: false, neutral, lacks: feature })

/** Several fields of one feature that ask for nothing with the same value. */
export const lack = <const Names extends string>(
  feature: FeatureName,
  neutral: Schema.Json,
  ...names: ReadonlyArray<Names>
): Readonly<Record<Names, Row>> => Object.fromEntries(names.map((name) => [name, lacks(feature, neutral)])) as Record<Names, Row>
