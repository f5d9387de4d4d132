/** The load generator process: takes one job at a time from its parent and ends with it. */
import { closed } from "./closed.ts"
import type { Job, Reply, Result } from "./Job.ts"
import { open } from "./open.ts"
import { paced } from "./paced.ts"
import { slow } from "./slow.ts"
import { idle } from "./socket.ts"
import { upload } from "./upload.ts"

const run = (job: Job): Promise<Result> => {
  switch (job.kind) {
    case "closed": return closed(job)
    case "open": return open(job)
    case "paced": return paced(job)
    case "slow": return slow(job)
    case "idle": return idle(job)
    case "upload": return upload(job)
  }
}

const reply = (message: Reply): void => {
  process.send?.(message)
}

process.on("message", (job: Job) => {
  run(job).then(
    (result) => reply({ ok: true, result }),
    (error: unknown) => reply({ ok: false, error: error instanceof Error ? error.message : String(error) })
  )
})
process.on("disconnect", () => process.exit(0))
process.on("SIGINT", () => undefined)
