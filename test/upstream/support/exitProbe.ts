/** Makes one call and leaves the scope open: the process must end although a keep-alive socket and the timer exist. */
import * as Client from "./client.ts"

const { upstream } = await Client.open({ keepAliveMs: 60_000 })
const run = Client.run(upstream, Client.requestTo(process.argv[2] ?? "", { timeouts: { connect: 60_000, headers: 60_000, firstEvent: 60_000, idle: 60_000, total: 60_000 } }))
await run.over
const endedAt = performance.now()
process.on("exit", () => process.stdout.write(`${run.text()} ${Math.round(performance.now() - endedAt)}`))
