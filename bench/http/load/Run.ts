/** One running job: its open connections, its deadline and the first thing that went wrong. */
import { setTimeout as sleep } from "node:timers/promises"
import { cpuNanoseconds, mainThreadNanoseconds, treeResidentKb } from "#bench/http/servers/ProcFs.ts"
import { Connection, type ConnectionEvents } from "./Connection.ts"
import type { Endpoint } from "./Job.ts"

const RSS_INTERVAL_MS = 50
const MAX_WINDOWS = 5

export class Run {
  readonly endpoint: Endpoint
  readonly #connections = new Set<Connection>()
  readonly #failure: Promise<never>
  readonly #deadline: NodeJS.Timeout
  #fail: (error: Error) => void = () => undefined
  /** Set once the job needs no more answers: what fails afterwards is no failure. */
  #over = false

  constructor(endpoint: Endpoint, deadlineMs: number) {
    this.endpoint = endpoint
    this.#failure = new Promise((_, reject) => this.#fail = reject)
    this.#failure.catch(() => undefined)
    this.#deadline = setTimeout(() => this.fail(`not finished within ${deadlineMs} ms`), deadlineMs)
  }

  get connections(): number {
    return this.#connections.size
  }

  get over(): boolean {
    return this.#over
  }

  connect(events: Omit<ConnectionEvents, "failed">, endpoint = this.endpoint): Connection {
    const connection = new Connection(endpoint, { ...events, failed: (problem) => this.fail(problem) })
    this.#connections.add(connection)
    return connection
  }

  release(connection: Connection): void {
    this.#connections.delete(connection)
    connection.close()
  }

  fail(problem: string): void {
    if (!this.#over) this.#fail(new Error(problem))
  }

  /** Waits for a promise, unless the job fails first. */
  until<A>(promise: Promise<A>): Promise<A> {
    return Promise.race([promise, this.#failure])
  }

  sleep(ms: number): Promise<void> {
    return this.until(sleep(ms, undefined))
  }

  /** Waits for a measured window; on a starved machine for several, until enough has happened to be divided by. */
  async window(ms: number, progress: () => number, enough: number): Promise<void> {
    for (let count = 0; count < MAX_WINDOWS && progress() < enough; count++) await this.sleep(ms)
    if (progress() === 0) throw new Error(`nothing arrived in ${MAX_WINDOWS} windows of ${ms} ms`)
  }

  cpu(): number {
    return this.endpoint.pid === null ? 0 : cpuNanoseconds(this.endpoint.pid)
  }

  mainCpu(): number {
    return this.endpoint.pid === null ? 0 : mainThreadNanoseconds(this.endpoint.pid)
  }

  residentKb(): number {
    return this.endpoint.pid === null ? 0 : treeResidentKb(this.endpoint.pid)
  }

  /** Watches resident memory until `stop`, which answers what was seen, in kB. */
  watchMemory(): { readonly stop: () => ReadonlyArray<number> } {
    const seen = [this.residentKb()]
    const timer = setInterval(() => seen.push(this.residentKb()), RSS_INTERVAL_MS)
    return {
      stop: () => {
        clearInterval(timer)
        seen.push(this.residentKb())
        return seen
      }
    }
  }

  close(): void {
    this.#over = true
    clearTimeout(this.#deadline)
    for (const connection of this.#connections) connection.close()
    this.#connections.clear()
  }
}

/** Runs `body` and closes everything it opened, however it ends. */
export const withRun = async <A>(endpoint: Endpoint, deadlineMs: number, body: (run: Run) => Promise<A>): Promise<A> => {
  const run = new Run(endpoint, deadlineMs)
  try {
    return await run.until(body(run))
  } finally {
    run.close()
  }
}
