/**
 * A process of its own that asks an address again and again, one question at a time on one connection, and tells how long the slowest
 * answer took. Arguments: the URL, and how many questions at most. Each line on standard input ends a round: the slowest answer since
 * the last line is written out, in ms of wall time.
 */
import * as http from "node:http"
import * as readline from "node:readline"

const [url = "", most = "100000"] = process.argv.slice(2)
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
let slowest = 0
let asked = 0

const ask = () => {
  if (++asked > Number(most)) return
  const begun = performance.now()
  const request = http.get(url, { agent }, (answer) => {
    answer.resume()
    answer.on("end", () => {
      slowest = Math.max(slowest, performance.now() - begun)
      setTimeout(ask, 2)
    })
  })
  request.on("error", () => setTimeout(ask, 2))
}
ask()

readline.createInterface({ input: process.stdin }).on("line", () => {
  process.stdout.write(`${slowest.toFixed(1)}\n`)
  slowest = 0
}).on("close", () => process.exit(0))
