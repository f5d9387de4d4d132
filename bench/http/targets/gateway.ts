/**
 * The gateway with everything on: key authentication, model resolution, plan, usage, ledger and metrics. It is started as
 * an operator would start it and configured through its own management API.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { asStarted } from "#bench/http/servers/asStarted.ts"
import { alive, type Child, freePort, listening, logTail, root, startNode, stop, workDirectory } from "#bench/http/servers/processes.ts"
import { cpuNanoseconds, peakResidentKb, residentKb } from "#bench/http/servers/ProcFs.ts"
import type { Candidate, Running, Stalls, Start, Surroundings } from "./Target.ts"

const LISTEN_TIMEOUT_MS = 30_000
const READY_TIMEOUT_MS = 60_000
const REST_TIMEOUT_MS = 60_000
/** After a start, before its idle memory is read. */
const IDLE_MS = 1_500
const CALL_TIMEOUT_MS = 15_000
const PASSWORD = "bench-only-password"
/** Lines of a batch in flight: as many as the scenario sends directly at once. */
export const BATCH_CONCURRENCY = 64
const CLUSTER_SECRET = "bench-only-secret-of-a-cluster"

interface Answer {
  readonly status: number
  readonly body: unknown
  readonly cookie: string | null
}

const call = async (origin: string, method: string, path: string, cookie: string | null, body?: unknown): Promise<Answer> => {
  const response = await fetch(origin + path, {
    method,
    headers: { "content-type": "application/json", ...(cookie === null ? {} : { cookie }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS)
  })
  const text = await response.text()
  const cookies = response.headers.getSetCookie().map((line) => line.split(";", 1)[0] ?? "")
  let parsed: unknown = null
  try {
    parsed = JSON.parse(text)
  } catch {
    parsed = text.slice(0, 300)
  }
  return { status: response.status, body: parsed, cookie: cookies.find((line) => line.startsWith("auth_token=")) ?? null }
}

/** The string at a path of an answer, or an error that shows the answer. */
const stringAt = (answer: Answer, what: string, ...path: ReadonlyArray<string>): string => {
  let value: unknown = answer.body
  for (const name of path) {
    value = typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined
  }
  if (answer.status >= 300 || typeof value !== "string") {
    throw new Error(`${what}: status ${answer.status}, ${JSON.stringify(answer.body).slice(0, 400)}`)
  }
  return value
}

const ready = async (child: Child, origin: string): Promise<void> => {
  const begun = performance.now()
  while (performance.now() - begun < READY_TIMEOUT_MS) {
    const answer = await call(origin, "GET", "/api/health/ping", null).catch(() => null)
    if (answer?.status === 200) return
    if (!alive(child)) break
    await sleep(25)
  }
  throw new Error(`GET /api/health/ping never answered 200\n${logTail(child)}`)
}

/** Waits until every settled row is in the record store: Postgres works on the same cores as the next measurement. */
const delivered = async (child: Child, origin: string): Promise<void> => {
  const begun = performance.now()
  while (performance.now() - begun < REST_TIMEOUT_MS && alive(child)) {
    const metrics = await fetch(`${origin}/metrics`, { signal: AbortSignal.timeout(CALL_TIMEOUT_MS) }).then((response) => response.text())
    if (/^gateway_ledger_backlog_rows(?:\{[^}]*\})? 0$/m.test(metrics)) return
    await sleep(100)
  }
}

/** Looks at the event loop that came more than 5 ms late. */
const stallsOf = async (origin: string): Promise<Stalls> => {
  const text = await fetch(`${origin}/metrics`, { signal: AbortSignal.timeout(CALL_TIMEOUT_MS) }).then((response) => response.text())
  const count = (series: string): number => {
    const line = text.split("\n").find((each) => each.startsWith(`gateway_event_loop_stall_seconds_${series} `))
    if (line === undefined) throw new Error(`GET /metrics: no gateway_event_loop_stall_seconds_${series}`)
    return Number(line.slice(line.lastIndexOf(" ") + 1))
  }
  const looks = count("count")
  return { looks, late: looks - count("bucket{le=\"0.005\"}") }
}

const signIn = async (origin: string): Promise<string> => {
  const login = await call(origin, "POST", "/api/auth/login", null, { password: PASSWORD })
  if (login.cookie === null) throw new Error(`POST /api/auth/login: status ${login.status}, no auth_token cookie`)
  return login.cookie
}

/** Declares the mock as a provider of this prefix, with a connection. */
const declare = async (origin: string, cookie: string, mockPort: number, prefix: string): Promise<void> => {
  const node = await call(origin, "POST", "/api/provider-nodes", cookie, {
    type: "openai-compatible",
    name: `Bench upstream ${prefix}`,
    prefix,
    apiType: "chat",
    baseUrl: `http://127.0.0.1:${mockPort}/v1`
  })
  const provider = stringAt(node, "POST /api/provider-nodes", "node", "id")
  const connection = await call(origin, "POST", "/api/providers", cookie, { provider, name: prefix, apiKey: "sk-bench-upstream" })
  stringAt(connection, "POST /api/providers", "connection", "id")
}

/** Declares the mock and creates a key; answers the key. */
const configure = async (origin: string, mockPort: number): Promise<string> => {
  const cookie = await signIn(origin)
  await declare(origin, cookie, mockPort, "bench")
  const key = await call(origin, "POST", "/api/keys", cookie, { name: "bench" })
  return stringAt(key, "POST /api/keys", "key")
}

/** Three more providers, and a combo of all four; answers what stands before the mock's model name. */
const combine = async (origin: string, mockPort: number): Promise<string> => {
  const cookie = await signIn(origin)
  const more = ["bench2", "bench3", "bench4"]
  for (const prefix of more) await declare(origin, cookie, mockPort, prefix)
  const models = ["bench", ...more].map((prefix) => `${prefix}/m-json`)
  stringAt(await call(origin, "POST", "/api/combos", cookie, { name: "four-m-json", models }), "POST /api/combos", "id")
  return "combo/four-"
}

/** A checkout of the gateway and what its instances stand between. */
interface Site extends Surroundings {
  readonly checkout: string
}

/** The process on a data directory, and when it listened; its log is named after `name`. */
const spawnOn = async (around: Site, name: string, data: string, env: Readonly<Record<string, string>>) => {
  const port = await freePort()
  const started = asStarted(around.checkout)
  const begun = performance.now()
  const child = startNode("src/main.ts", ["serve"], {
    name,
    cpu: around.cpu,
    cwd: around.checkout,
    env: {
      NODE_ENV: "production",
      HOST: "127.0.0.1",
      PORT: String(port),
      GATEWAY_DATA_DIR: data,
      INITIAL_PASSWORD: PASSWORD,
      REQUIRE_API_KEY: "true",
      ...started.env,
      ...env,
      GATEWAY_SIM_PROVIDER: "false",
      GATEWAY_BATCH_CONCURRENCY: String(BATCH_CONCURRENCY),
      GATEWAY_ALLOW_LOCAL_PROVIDER_URLS: "true",
      GATEWAY_ALLOW_PRIVATE_PROVIDER_URLS: "true",
      LIVE_WS_PORT: String(await freePort())
    }
  }, [...started.flags, ...around.nodeFlags])
  return { child, port, begun }
}

const emptyDirectory = (name: string): string => {
  mkdirSync(workDirectory, { recursive: true })
  return mkdtempSync(join(workDirectory, `${name}-`))
}

/** Two starts with the embedded database: on an empty directory, and again on what the first has left. */
const startTwice = async (around: Site, name: string): Promise<readonly [first: Start, again: Start]> => {
  const data = emptyDirectory(name)
  const start = async (): Promise<Start> => {
    const { begun, child, port } = await spawnOn(around, name, data, {})
    try {
      await listening(child, "127.0.0.1", port, LISTEN_TIMEOUT_MS)
      await ready(child, `http://127.0.0.1:${port}`)
      const readyMs = performance.now() - begun
      const cpuMs = cpuNanoseconds(child.pid) / 1e6
      await sleep(IDLE_MS)
      return { readyMs, cpuMs, peakKb: peakResidentKb(child.pid), idleKb: residentKb(child.pid) }
    } finally {
      await stop(child)
    }
  }
  try {
    return [await start(), await start()]
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

/** One instance; with a Redis it is a node of a cluster that has no other. */
const launch = async (around: Site, name: string, redis: string | null, env: Readonly<Record<string, string>> = {}): Promise<Running> => {
  const data = emptyDirectory(name)
  const { child, port } = await spawnOn(around, name, data, {
    ...env,
    ...(around.database === null ? {} : { DATABASE_URL: await around.database() }),
    ...(redis === null ? {} : { REDIS_URL: redis, GATEWAY_SECRET: CLUSTER_SECRET, GATEWAY_NODE_ID: name })
  })
  const end = async (): Promise<void> => {
    await stop(child)
    rmSync(data, { recursive: true, force: true })
  }
  try {
    const origin = `http://127.0.0.1:${port}`
    const listeningMs = await listening(child, "127.0.0.1", port, LISTEN_TIMEOUT_MS)
    await ready(child, origin)
    const apiKey = await configure(origin, around.mockPort)
    const endpoint = { host: "127.0.0.1", port, basePath: "/v1", modelPrefix: "bench/", apiKey, pid: child.pid }
    const { database, redis: server } = around
    return {
      endpoint,
      listeningMs,
      combine: async () => ({ ...endpoint, modelPrefix: await combine(origin, around.mockPort) }),
      ...(database === null || server === null || redis !== null ? {} : {
        asNode: async () => launch(around, `${name}-node`, await server()),
        asWorkers: async (count: number) => launch(around, `${name}-workers`, await server(), { GATEWAY_WORKERS: String(count) })
      }),
      stalls: () => stallsOf(origin),
      probed: async () => {
        const file = join(workDirectory, `${name}-probe`)
        const running = await launch({ ...around, nodeFlags: [...around.nodeFlags, "--import", join(root, "bench/http/tiers/Probe.ts")] }, `${name}-probed`, redis, { BENCH_PROBE: file, NODE_DISABLE_COMPILE_CACHE: "1" })
        const { pid } = running.endpoint
        return { running, file, signal: () => void (pid === null ? null : process.kill(pid, "SIGUSR2")) }
      },
      startTwice: () => startTwice(around, `${name}-embedded`),
      rest: () => delivered(child, origin),
      stop: end
    }
  } catch (error) {
    await end()
    throw error
  }
}

export const gateway = (around: Surroundings): Candidate => {
  if (!existsSync(join(root, "src", "main.ts"))) return { name: "gateway", missing: "src/main.ts does not exist" }
  return checkedOut({ ...around, checkout: root }, "gateway")
}

const checkedOut = (site: Site, name: string): Candidate =>
  ({ target: { name, owned: true, translates: true, launch: (instance) => launch(site, `${name}-${instance}`, null) } })

export const baselineName = "baseline"

/** Another checkout of the gateway, without further flags: what a change or a flag is worth. */
export const baseline = (around: Surroundings, checkout: string): Candidate =>
  existsSync(join(checkout, "src", "main.ts"))
    ? checkedOut({ ...around, checkout, nodeFlags: [] }, baselineName)
    : { name: baselineName, missing: `${checkout} has no src/main.ts` }
