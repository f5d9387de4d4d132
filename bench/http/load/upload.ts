import { expectedUpload, uploadOf, uploadPath } from "../upload.ts"
import { type Connection, contentCheck } from "./Connection.ts"
import type { UploadJob, UploadResult } from "./Job.ts"
import { withRun } from "./Run.ts"

/**
 * Uploads of one file: each connection sends its next one when the answer to the last was verified, which holds the digest of the file as
 * it reached the upstream. All of them are measured, from the first byte to the last answer.
 */
export const upload = (job: UploadJob): Promise<UploadResult> =>
  withRun(job.endpoint, job.deadlineMs, async (run) => {
    const { endpoint } = job
    const form = uploadOf(endpoint.modelPrefix, job.megabytes)
    const expected = expectedUpload(form)
    const request = Buffer.concat([
      Buffer.from(
        `POST ${endpoint.basePath}${uploadPath} HTTP/1.1\r\nhost: ${endpoint.host}:${endpoint.port}\r\n` +
          (endpoint.apiKey === null ? "" : `authorization: Bearer ${endpoint.apiKey}\r\n`) +
          `content-type: ${form.contentType}\r\naccept: */*\r\ncontent-length: ${form.body.length}\r\n\r\n`
      ),
      form.body
    ])
    let left = job.uploads
    let busy = 0
    let finish: () => void = () => undefined
    const finished = new Promise<void>((resolve) => finish = resolve)
    const next = (connection: Connection): void => {
      left--
      connection.send(request, contentCheck(expected))
    }
    const rssBeforeKb = run.residentKb()
    const memory = run.watchMemory()
    const begun = performance.now()
    const cpuBefore = run.cpu()
    const mainBefore = run.mainCpu()
    for (let index = 0; index < job.concurrency && left > 0; index++) {
      busy++
      next(run.connect({
        done: (connection) => {
          if (left > 0) return next(connection)
          run.release(connection)
          if (--busy === 0) finish()
        }
      }))
    }
    await run.until(finished)
    const cpuNs = run.cpu() - cpuBefore
    const mainCpuNs = run.mainCpu() - mainBefore
    return { kind: "upload", megabytes: job.uploads * job.megabytes, windowMs: performance.now() - begun, cpuNs, mainCpuNs, rssBeforeKb, rssPeakKb: Math.max(...memory.stop()) }
  })
