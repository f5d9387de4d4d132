/** `npm run bench`: the gateway beside nginx and haproxy, in front of one mock, driven by one load generator. */
import { main } from "./http/run.ts"

process.exit(await main(process.argv.slice(2)))
