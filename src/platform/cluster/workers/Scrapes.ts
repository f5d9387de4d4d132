/**
 * The metrics of all workers, served by any of them: each ready worker is asked, within a bound. A worker that does not answer in
 * time is left out with its gauges; its last counters stay, as do those of an ended worker, so that no counter falls.
 */
import { merge, type WorkerText, remains } from "#src/platform/telemetry/mergedText.ts"
import type { Scraped, Tell } from "./messages.ts"

/** How long a scrape waits for the slowest worker, ms. */
export const WAIT_MS = 500

type Send = (message: Scraped | Tell) => void

interface Round {
  readonly awaited: Set<number>
  readonly parts: Array<WorkerText>
  readonly done: () => void
}

const gauge = (name: string, help: string, value: number): string => `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${value}\n`

export class Scrapes {
  readonly #workers: number
  readonly #later: (ms: number, then: () => void) => () => void
  /** Those that serve, by number. */
  readonly #serving = new Map<number, Send>()
  /** The last text of each worker process. */
  readonly #last = new Map<number, string>()
  /** Of lives that are over. */
  #former = ""
  readonly #rounds = new Map<number, Round>()
  #count = 0

  /** `workers`: as many as there should be; `later` answers how to take it back. */
  constructor(workers: number, later: (ms: number, then: () => void) => () => void) {
    this.#workers = workers
    this.#later = later
  }

  serves(worker: number, send: Send): void {
    this.#serving.set(worker, send)
  }

  gone(worker: number): void {
    this.#serving.delete(worker)
    const last = this.#last.get(worker)
    this.#last.delete(worker)
    if (last !== undefined) this.#former = remains([this.#former, last])
    // A round that ends here takes itself out of the map, which the loop allows.
    for (const id of this.#rounds.keys()) this.#settled(id, worker)
  }

  /** A client reads the metrics at this worker, which identifies its request by `id`. */
  scrape(worker: number, id: number): void {
    const round = ++this.#count
    const cancel = this.#later(WAIT_MS, () => this.#rounds.get(round)?.done())
    const parts: Array<WorkerText> = []
    this.#rounds.set(round, {
      awaited: new Set(this.#serving.keys()),
      parts,
      done: () => {
        cancel()
        this.#rounds.delete(round)
        this.#serving.get(worker)?.({ gateway: "scraped", id, text: this.#text(parts) })
      }
    })
    for (const send of this.#serving.values()) send({ gateway: "tell", round })
  }

  reply(worker: number, round: number, text: string): void {
    if (!this.#serving.has(worker)) return
    this.#last.set(worker, text)
    this.#rounds.get(round)?.parts.push({ worker, text })
    this.#settled(round, worker)
  }

  #settled(id: number, worker: number): void {
    const round = this.#rounds.get(id)
    if (round === undefined || !round.awaited.delete(worker) || round.awaited.size > 0) return
    round.done()
  }

  #text(parts: ReadonlyArray<WorkerText>): string {
    const answered = new Set(parts.map(({ worker }) => worker))
    const silent = Array.from(this.#last).filter(([worker]) => !answered.has(worker)).map(([, text]) => text)
    return merge(parts.toSorted((a, b) => a.worker - b.worker), [this.#former, ...silent])
      + gauge("gateway_workers", "Worker processes whose figures this is.", parts.length)
      + gauge("gateway_workers_silent", "Worker processes that did not answer: their counters are of an earlier time, their gauges are missing.", this.#workers - parts.length)
  }
}
