/** A job of the threads that read large bodies: a public list of models becomes entries for the store. */
import * as Crypto from "node:crypto"
import type { Source, Subject } from "#schemas/catalogue/SyncedModels.ts"
import { PublicError } from "#schemas/errors.ts"
import type * as Jobs from "#src/inference/lane/bodies/jobs.ts"
import * as Litellm from "./litellm.ts"
import * as ModelsDev from "./modelsDev.ts"
import type { Doc, Reading } from "./reading.ts"

export interface ListJob extends Jobs.JobSubject {
  readonly source: Source
  readonly subject: Subject
}

export interface ListRead {
  /** JSON of an object: entries by `<provider>/<model>`, in the order of their names. */
  readonly entries: Uint8Array
  /** SHA-256 of `entries`, hex. */
  readonly revision: string
  readonly modelCount: number
  readonly providerCount: number
  readonly warnings: ReadonlyArray<string>
}

const readers: Readonly<Record<Source, (list: Doc) => Reading>> = { litellm: Litellm.read, "models.dev": ModelsDev.read }

/** What a source says of a subject. */
export const readList = (source: Source, subject: Subject, list: Doc): ListRead => {
  const reading = readers[source](list)
  const entries = Array.from<readonly [string, object]>(reading[subject]).sort(([a], [b]) => a < b ? -1 : 1)
  const bytes = Buffer.from(JSON.stringify(Object.fromEntries(entries)))
  return {
    entries: bytes, revision: Crypto.hash("sha256", bytes, "hex"), modelCount: entries.length,
    providerCount: new Set(entries.map(([key]) => key.slice(0, key.indexOf("/")))).size, warnings: reading.warnings
  }
}

export const run: Jobs.RunJob<ListJob, ListRead> = (job, parse) => {
  const list = parse(job)
  return list instanceof PublicError ? list : readList(job.source, job.subject, list)
}
