/** An archive cannot be written or read. The message says what is wrong with it and what to do. */
import * as Schema from "effect/Schema"
import { messageOf } from "#actors/thrown.ts"

/**
 * `foreign`: no archive of a gateway. `broken`: altered or cut. `newer`: of a newer release. `sealed`: the key or passphrase that opens it
 * is not here. `disk`: its file cannot be read or written.
 */
export class ArchiveError extends Schema.TaggedError<ArchiveError>()("ArchiveError", {
  reason: Schema.Literals(["foreign", "broken", "newer", "sealed", "disk"]),
  message: Schema.String
}) {}

export const broken = (why: string): ArchiveError =>
  new ArchiveError({ reason: "broken", message: `The archive is broken: ${why}. Nothing was changed; use another copy of it.` })

/** What a stream or the file system threw. */
export const ofThrown = (what: string) => (error: unknown): ArchiveError => error instanceof ArchiveError
  ? error
  : new ArchiveError({ reason: "disk", message: `${what}: ${messageOf(error)}` })
