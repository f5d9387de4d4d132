/**
 * Instructions of the gateway's own code per request, counted by valgrind's callgrind. Unlike time they hardly depend on the host and on
 * what else it does, so that a change of a few percent shows in one run.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { median } from "#bench/http/report/statistics.ts"
import { outputOf, root, start, workDirectory } from "#bench/http/servers/processes.ts"

export interface Plan {
  readonly rounds: number
  /** Requests of a round. */
  readonly requests: number
  /** Further arguments of `bench/micro/request.ts`. */
  readonly args: ReadonlyArray<string>
  readonly cpu: number | null
  /** V8 names the functions that it compiles. */
  readonly named: boolean
}

/** A quarter of the rounds compiles. */
export const usual: Plan = { rounds: 20, requests: 3_000, args: [], cpu: null, named: false }

export interface Counted {
  /** The median round. */
  readonly perRequest: number
  readonly rounds: ReadonlyArray<number>
  /** Callgrind's files of the rounds that counted. */
  readonly files: ReadonlyArray<string>
  /** Where V8 has named what it compiled. */
  readonly namesFile: string | null
}

const TIMEOUT_MS = 900_000
/** `process.uptime`, which is called where a round begins: the counter is written and starts anew. */
const MARK = "*Uptime(*"

/** What the rounds after the first quarter took: collections of old garbage and late compilations make some dearer. */
export const run = async (plan: Plan): Promise<Counted> => {
  const directory = join(workDirectory, "instructions")
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const child = start("valgrind", [
    "--tool=callgrind", "--smc-check=all-non-file", `--callgrind-out-file=${join(directory, "out")}`, `--dump-before=${MARK}`,
    process.execPath, "--disable-warning=ExperimentalWarning", ...(plan.named ? ["--perf-basic-prof", `--perf-basic-prof-path=${directory}`] : []),
    "--import=./src/preload.mjs", "--max-semi-space-size=16",
    "bench/micro/request.ts", "--rounds", String(plan.rounds), "--requests", String(plan.requests), ...plan.args
  ], { name: "instructions", cpu: plan.cpu, cwd: root })
  await outputOf(child, TIMEOUT_MS)
  const written = readdirSync(directory)
  // The first part is the start of the process; the last ends with it and is left out, too.
  const files = written.flatMap((name) => {
    const part = /^out\.(\d+)$/.exec(name)?.[1]
    return part === undefined || Number(part) <= 1 + plan.rounds / 4 ? [] : [join(directory, name)]
  })
  const rounds = files.map((file) => totalOf(readFileSync(file, "latin1")) / plan.requests)
  if (rounds.length === 0) throw new Error("callgrind has written no round")
  const names = written.find((name) => name.endsWith(".map"))
  return { perRequest: median(rounds), rounds, files, namesFile: names === undefined ? null : join(directory, names) }
}

/** The sum that a file of callgrind ends with. */
export const totalOf = (text: string): number => {
  const total = /^(?:totals|summary): (\d+)/m.exec(text)?.[1]
  if (total === undefined) throw new Error("a file of callgrind without its sum")
  return Number(total)
}
