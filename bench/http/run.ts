/** The bench from its command line to its exit code. */
import { readFileSync } from "node:fs"
import { cpus, totalmem } from "node:os"
import { join } from "node:path"
import { spawnSync } from "node:child_process"
import { type Budgets, judge, parseBudgets } from "#bench/http/report/budgets.ts"
import { rowsOf } from "#bench/http/report/comparison.ts"
import * as Harness from "./Harness.ts"
import { type KnownPeer, type Options, parseOptions, usage } from "./options.ts"
import { clearOldWork, killAllNow, placement, programPath, root, stopAll } from "#bench/http/servers/processes.ts"
import { hottest, profileDirectory } from "./profile.ts"
import { type Checkout, type Results, writeReport } from "#bench/http/report/report.ts"
import { verdictLines } from "#bench/http/report/markdown.ts"
import { startPostgres } from "#bench/http/servers/PostgresServer.ts"
import { redisServer } from "#bench/http/servers/RedisServer.ts"
import { Runner } from "./Runner.ts"
import { scenarios } from "./scenarios.ts"
import { bare } from "./targets/bare.ts"
import { direct } from "./targets/direct.ts"
import { baseline, baselineName, gateway } from "./targets/gateway.ts"
import { haproxy } from "./targets/haproxy.ts"
import { nginx } from "./targets/nginx.ts"
import { peer } from "./targets/peer.ts"
import { portkey } from "./targets/portkey.ts"
import type { Candidate, Surroundings, Target } from "./targets/Target.ts"

const log = (line: string): void => {
  process.stderr.write(`${line}\n`)
}

const known: Readonly<Record<KnownPeer, (around: Surroundings) => Target>> = { portkey }

interface Selection {
  readonly targets: ReadonlyArray<Target>
  readonly reference: string
}

/** The targets that take part, and what ratios are taken against. A smoke run leaves out what its guards do not need. */
const select = (options: Options, budgets: Budgets, around: Surroundings): Selection => {
  const candidates: ReadonlyArray<Candidate> = [
    nginx(around), gateway(around), haproxy(around), bare(around), ...options.peers.map((each) => ({ target: peer(each) })),
    ...options.knownPeers.map((name) => ({ target: known[name](around) })),
    ...(options.baseline === null ? [] : [baseline(around, options.baseline)])
  ]
  const taken = candidates.map((each) => "target" in each ? each.target.name : each.name)
  const double = taken.find((name, index) => name === "direct" || taken.indexOf(name) !== index)
  if (double !== undefined) throw new Error(`--peer ${double}: the name is taken`)
  const available = candidates.flatMap((each) => "target" in each ? [each.target] : [])
  const missing = candidates.flatMap((each) => "missing" in each ? [each] : [])
  const present = new Set(available.map((each) => each.name))
  // In a smoke run, which breaks builds, the stand-in: a busy machine slows compiled code alike, and nginx far less.
  const steady = options.profile === "smoke" && options.targets === null
  const isBeside = options.baseline !== null
  const absent = missing.find(({ name }) => name === baselineName)
  if (absent !== undefined) throw new Error(`--baseline: ${absent.missing}`)
  const reference = isBeside ? baselineName : !steady && present.has(budgets.reference) && options.targets?.includes(budgets.reference) !== false
    ? budgets.reference
    : budgets.fallback.reference
  const smallest = [budgets.subject, reference, ...options.peers.map((each) => each.name)]
  const wanted = isBeside ? [...new Set([...options.targets ?? [budgets.subject], reference])]
    : options.targets ?? (options.profile === "smoke" ? smallest : [...present])
  for (const each of missing) {
    if (options.targets?.includes(each.name) ?? true) log(`${each.name} is left out: ${each.missing}`)
  }
  if (!isBeside && reference !== budgets.reference) log(`ratios are taken against ${reference}, which usually costs so many times ${budgets.reference}: ${JSON.stringify(budgets.fallback.timesReference)}`)
  for (const name of wanted) {
    if (!candidates.some((each) => ("target" in each ? each.target.name : each.name) === name)) throw new Error(`--targets ${name}: unknown`)
  }
  const targets = available.filter((each) => wanted.includes(each.name))
  if (targets.length === 0) throw new Error("no target is available")
  return { targets, reference }
}

const versionOf = (name: string, flag: string): string | null => {
  const program = programPath(name)
  if (program === null) return null
  const { stdout, stderr } = spawnSync(program, [flag], { encoding: "utf8", timeout: 5_000 })
  return /\d+\.\d+\.\d+/.exec(stdout + stderr)?.[0] ?? null
}

const machine = (pinned: boolean): Results["machine"] => ({
  cpu: cpus()[0]?.model ?? "unknown",
  cores: cpus().length,
  memoryGb: Math.round(totalmem() / 2 ** 30),
  pinned,
  node: process.versions.node,
  nginx: versionOf("nginx", "-v"),
  haproxy: versionOf("haproxy", "-v")
})

const commitOf = (checkout: string): Checkout => {
  const git = (...args: ReadonlyArray<string>) => spawnSync("git", args, { cwd: checkout, encoding: "utf8", timeout: 5_000 })
  const { status, stdout } = git("rev-parse", "--short=8", "HEAD")
  return status === 0 ? { id: stdout.trim(), changed: git("status", "--porcelain", "--untracked-files=no").stdout !== "" } : null
}

const bench = async (options: Options): Promise<number> => {
  const budgets = parseBudgets(readFileSync(join(root, "bench", "budgets.json"), "utf8"))
  const begunAt = new Date()
  const place = placement(options.pin)
  if (place.rest !== null) spawnSync("taskset", ["-a", "-cp", String(place.rest), String(process.pid)])
  const harness = await Harness.start(place, options.mockPort, options.tickMs)
  const profiling = options.cpuProfile ? ["--cpu-prof", `--cpu-prof-dir=${profileDirectory}`] : []
  const nodeFlags = [...options.nodeFlags, ...profiling]
  const needsRecords = options.baseline !== null || (options.targets?.includes(budgets.subject) ?? true)
  const server = options.records === "embedded" || !needsRecords ? null : await startPostgres(place.rest)
  if (server === null && options.records === "postgres") throw new Error("--records postgres: no Postgres is installed")
  if (server === null && needsRecords) log(`${budgets.subject} keeps its records embedded: their CPU and memory count as its own`)
  const around: Surroundings = { mockPort: harness.mockPort, cpu: place.target, nodeFlags, database: server?.database ?? null, redis: redisServer(place.rest) }
  if (options.peers.length > 0) log(`the mock listens on 127.0.0.1:${harness.mockPort}`)
  const { targets, reference } = select(options, budgets, around)
  const plan = {
    scenarios: scenarios.filter((each) => options.scenarios.includes(each.id)),
    targets,
    subject: budgets.subject,
    direct: direct(around),
    rounds: options.rounds,
    sizes: options.sizes
  }
  const { measurements, failures } = await new Runner(harness, plan, log).run()
  await stopAll()
  const rows = rowsOf(measurements, reference)
  // Budgets are stated against nginx, and an earlier commit has no fixed cost beside it.
  const judgements = options.baseline === null ? judge(budgets, rows, { reference, smoke: options.profile === "smoke" }) : []
  const results: Results = {
    startedAt: begunAt.toISOString(),
    commit: commitOf(root),
    ...(options.baseline === null ? {} : { baseline: commitOf(options.baseline) }),
    seconds: Math.round((Date.now() - begunAt.getTime()) / 1_000),
    profile: options.profile,
    rounds: options.rounds,
    tickMs: options.tickMs,
    sizes: options.sizes,
    machine: machine(place.target !== null),
    reference,
    subject: budgets.subject,
    records: server === null ? "embedded" : "postgres",
    scenarios: plan.scenarios.map((each) => ({ id: each.id, title: each.title(options.sizes) })),
    rows,
    judgements,
    failures,
    measurements
  }
  for (const line of verdictLines(results)) log(line)
  if (options.cpuProfile) for (const line of hottest()) log(line)
  if (options.report) log(`report: ${writeReport(results)}`)
  if (options.json) process.stdout.write(`${JSON.stringify(results, null, 2)}\n`)
  return failures.length > 0 || judgements.some((each) => each.verdict === "beyond guard") ? 1 : 0
}

const endOn = (signal: NodeJS.Signals, code: number): void => {
  process.once(signal, () => {
    log(`${signal}: ending the bench's processes`)
    stopAll().finally(() => process.exit(code))
  })
}

/** 0: all contents right and no guard broken. 1: a failure or a broken guard. 2: a wrong command line. */
export const main = async (args: ReadonlyArray<string>): Promise<number> => {
  let options: Options | null
  try {
    options = parseOptions(args)
  } catch (error) {
    log(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`)
    return 2
  }
  if (options === null) {
    process.stdout.write(usage)
    return 0
  }
  endOn("SIGINT", 130)
  endOn("SIGTERM", 143)
  process.on("exit", killAllNow)
  clearOldWork()
  try {
    return await bench(options)
  } catch (error) {
    log(`the bench failed: ${error instanceof Error ? error.message : String(error)}`)
    return 1
  } finally {
    await stopAll()
  }
}
