/**
 * Preloaded into a gateway (NODE_OPTIONS=--import): writes into the file GATEWAY_TEST_TURNS how often SIGUSR2 came, the processor time
 * of the loop's longest turn since then, and what this machine needs now for a copy of 10 MB, a body, into fresh memory. In ms; time that
 * other processes took from this one does not count.
 */
import * as fs from "node:fs"
import { isMainThread } from "node:worker_threads"

const file = process.env["GATEWAY_TEST_TURNS"]
const spent = `/proc/self/task/${process.pid}/schedstat`

if (isMainThread && file !== undefined) {
  /** Of the main thread, ms. */
  const cpuMs = () => Number(fs.readFileSync(spent, "latin1").split(" ", 1)[0]) / 1e6
  let last = cpuMs()
  let longest = 0
  let begun = 0
  let copying = 0
  const tell = () => {
    // Put in place whole: the test may read at any moment, and half of it is no number.
    fs.writeFileSync(`${file}.${process.pid}`, `${begun} ${longest} ${copying}`)
    fs.renameSync(`${file}.${process.pid}`, file)
  }
  setInterval(() => {
    const now = cpuMs()
    const turn = now - last
    last = now
    if (turn > longest) {
      longest = turn
      tell()
    }
  }, 5).unref()
  process.on("SIGUSR2", () => {
    begun++
    longest = 0
    // The least of four: a neighbour makes a copy longer now and then, and what is taken away too much hides a long turn.
    copying = Math.min(...Array.from({ length: 4 }, () => {
      const from = cpuMs()
      Buffer.from(new SharedArrayBuffer(1e7)).fill(1)
      return cpuMs() - from
    }))
    last = cpuMs()
    tell()
  })
}
