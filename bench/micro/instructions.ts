/**
 * Instructions of the gateway's own code per request, without sockets: admission, plan, actor, attempt, answer, journal.
 * Run: node bench/micro/instructions.ts [--functions] [arguments of bench/micro/request.ts]. It needs valgrind and takes three minutes.
 * `--functions` names the dearest functions.
 */
import { readFileSync } from "node:fs"
import { clearOldWork, killAllNow, programPath, root } from "#bench/http/servers/processes.ts"
import { run, usual } from "./instructions/count.ts"
import { costsOf, dearest, namesOf } from "./instructions/functions.ts"

const MOST_FUNCTIONS = 60

const main = async (): Promise<number> => {
  const args = process.argv.slice(2)
  const named = args.includes("--functions")
  if (programPath("valgrind") === null) {
    console.error("valgrind is not installed: apt-get install valgrind")
    return 1
  }
  process.once("exit", killAllNow)
  for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) process.once(signal, () => process.exit(code))
  clearOldWork()
  const plan = { ...usual, named, args: args.filter((arg) => arg !== "--functions") }
  const { files, namesFile, perRequest, rounds } = await run(plan)
  if (named) {
    const names = namesFile === null ? new Map<number, string>() : namesOf(readFileSync(namesFile, "latin1"))
    const costs = dearest(files.map((file) => costsOf(readFileSync(file, "latin1"))), names, plan.requests * files.length)
    for (const { name, perRequest: cost } of costs.slice(0, MOST_FUNCTIONS)) console.log(cost.toFixed(0).padStart(6), name.replaceAll(`file://${root}/`, "").replaceAll(`${root}/`, "").slice(0, 150))
  }
  console.log(`instructions per request: ${perRequest.toFixed(0)} (${Math.min(...rounds).toFixed(0)} to ${Math.max(...rounds).toFixed(0)}, ${rounds.length} rounds)`)
  return 0
}

process.exitCode = await main()
