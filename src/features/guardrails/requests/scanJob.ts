/** A job about a large request: the guardrails read it in a thread. */
import { PublicError } from "#schemas/errors.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as Jobs from "#src/inference/lane/bodies/jobs.ts"
import type { Report } from "#src/features/guardrails/Reading.ts"
import type { Rules } from "#src/features/guardrails/rules.ts"
import * as RewrittenBody from "./rewrittenBody.ts"
import * as Scan from "./scan.ts"

export interface ScanBody extends Jobs.JobSubject {
  readonly format: FormatName
  readonly rules: Rules
}

export interface ScannedBody {
  readonly reports: ReadonlyArray<Report>
  readonly changed: RewrittenBody.RewrittenBody | null
}

export const run: Jobs.RunJob<ScanBody, ScannedBody> = (job, parse) => {
  const body = parse(job)
  if (body instanceof PublicError) return body
  const { changed, reports } = Scan.scan(job.rules, job.format, Jobs.bufferOf(job), body)
  return { reports, changed: changed === null ? null : RewrittenBody.of(job.format, changed.bytes, changed.body) }
}
