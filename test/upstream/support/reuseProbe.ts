/** Makes two calls on one socket and prints both answers as the process ends: a call that runs must hold the process. */
import * as Client from "./client.ts"

const { upstream } = await Client.open({ keepAliveMs: 60_000 })
const texts: Array<string> = []
process.on("exit", () => process.stdout.write(texts.join(" ")))
const first = Client.run(upstream, Client.requestTo(process.argv[2] ?? ""))
await first.over
texts.push(first.text())
const second = Client.run(upstream, Client.requestTo(process.argv[2] ?? ""))
void second.over.then(() => texts.push(second.text()))
