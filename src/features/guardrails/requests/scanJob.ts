/** A job about a large request: the guardrails read it in a thread. */
import * as Crypto from "node:crypto"
import { PublicError } from "#schemas/errors.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as Identity from "#src/inference/lane/bodies/identity.ts"
import * as Jobs from "#src/inference/lane/bodies/jobs.ts"
import { outlineOf } from "#src/inference/lane/bodies/outline.ts"
import type { Report } from "#src/features/guardrails/Reading.ts"
import type { Rules } from "#src/features/guardrails/rules.ts"
import * as Scan from "./scan.ts"

export interface ScanBody extends Jobs.JobSubject {
  readonly format: FormatName
  readonly rules: Rules
}

/** A body that takes the place of another one, with what the loop has to know of it. */
export interface RewrittenBody extends Pick<Jobs.OpenedBody, "outline" | "digest" | "identity"> {
  /** In memory that threads share. */
  readonly bytes: Uint8Array
}

export interface ScannedBody {
  readonly reports: ReadonlyArray<Report>
  readonly changed: RewrittenBody | null
}

export const run: Jobs.RunJob<ScanBody, ScannedBody> = (job, parse) => {
  const body = parse(job)
  if (body instanceof PublicError) return body
  const { changed, reports } = Scan.scan(job.rules, job.format, Jobs.bufferOf(job), body)
  if (changed === null) return { reports, changed: null }
  const bytes = Buffer.from(new SharedArrayBuffer(changed.bytes.length))
  bytes.set(changed.bytes)
  return {
    reports,
    changed: { bytes, outline: outlineOf(changed.body), digest: Crypto.hash("sha256", bytes, "hex"), identity: Identity.digestOf(job.format, changed.body) }
  }
}
