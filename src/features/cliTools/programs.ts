/** Programs of the gateway's user: looked up in PATH, and asked for their version without a shell. */
import * as Effect from "effect/Effect"
import * as Find from "#src/platform/programs/find.ts"
import { environmentOf } from "#src/platform/programs/process.ts"
import * as Run from "#src/platform/programs/run.ts"
import type { Machine } from "./Machine.ts"

/** A program that has not answered by then is not waited for, ms. */
export const PROBE_MS = 5_000
/** Characters of an answer that are read. */
const ANSWER_MAX = 4_096

export type Found = Find.Found

export interface Probe {
  readonly version: string | null
  /** Why it does not run; null when it does. */
  readonly reason: string | null
}

export const find = ({ path }: Machine, command: string): Effect.Effect<Found | null> => Find.inPath(path, command)

const versionIn = (answer: string): string | null => /\d+(?:\.\d+)+(?:[-+][0-9A-Za-z.-]+)?/.exec(answer)?.[0] ?? null

/** Runs the program with plain arguments; it gets no variable of the gateway but those that find programs and files. */
export const probe = (machine: Machine, { file }: Found, args: ReadonlyArray<string>): Effect.Effect<Probe> => Effect.map(
  Run.run({
    file, args, env: environmentOf(process.env, { PATH: machine.path, HOME: machine.home, NO_COLOR: "1" }, ["LANG", "TMPDIR"])
  }, { withinMs: PROBE_MS, outputMax: ANSWER_MAX }),
  ({ problem, stdout }) => ({ version: versionIn(stdout), reason: problem })
)
