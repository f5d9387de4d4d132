/** A scrape over workers that answer, answer late, or are gone: bounded, and no counter ever falls. */
import { describe, expect, it } from "vitest"
import { Scrapes, WAIT_MS } from "#src/platform/cluster/workers/Scrapes.ts"

const textOf = (requests: number, live: number): string =>
  `# TYPE requests_total counter\nrequests_total ${requests}\n# TYPE live gauge\nlive ${live}\n`

const world = (workers: number) => {
  const timers = new Set<() => void>()
  const scrapes = new Scrapes(workers, (ms, then) => {
    expect(ms).toBe(WAIT_MS)
    timers.add(then)
    return () => timers.delete(then)
  })
  /** What the workers have counted; a worker without an entry says nothing. */
  const counted = new Map<number, readonly [requests: number, live: number]>()
  const answers: Array<{ readonly worker: number; readonly id: number; readonly text: string }> = []
  const late: Array<() => void> = []
  const serve = (worker: number): void => scrapes.serves(worker, (message) => {
    if (message.gateway === "scraped") {
      answers.push({ worker, id: message.id, text: message.text })
      return
    }
    const tell = (): void => {
      const [requests, live] = counted.get(worker) ?? [0, 0]
      scrapes.reply(worker, message.round, textOf(requests, live))
    }
    if (counted.has(worker)) tell()
    else late.push(tell)
  })
  const read = (text: string | undefined): Record<string, number> =>
    Object.fromEntries((text ?? "").split("\n").filter((line) => line !== "" && !line.startsWith("#")).map((line) => line.split(" ")).map(([name, value]) => [name, Number(value)]))
  return {
    scrapes, serve, counted, answers, late, timers,
    /** Time is up for every round. */
    fireTimer: () => {
      for (const ring of timers) ring()
    },
    last: () => read(answers.at(-1)?.text)
  }
}

describe("a scrape over several workers", () => {
  it("asks all that serve, answers the one that asked, and waits for nothing once all have told", () => {
    const { answers, counted, last, scrapes, serve, timers } = world(2)
    for (const worker of [1, 2]) serve(worker)
    counted.set(1, [3, 1]).set(2, [4, 2])
    scrapes.scrape(2, 17)
    expect(answers.map(({ id, worker }) => [worker, id])).toEqual([[2, 17]])
    expect(last()).toEqual({ requests_total: 7, live: 3, gateway_workers: 2, gateway_workers_silent: 0 })
    expect(timers.size).toBe(0)
  })

  it("a worker that says nothing in time is left out: what it had counted stays, what it measures is missing", () => {
    const { answers, fireTimer, counted, last, late, scrapes, serve, timers } = world(3)
    for (const worker of [1, 2, 3]) serve(worker)
    counted.set(1, [3, 1]).set(2, [4, 2]).set(3, [5, 3])
    scrapes.scrape(1, 1)
    counted.delete(3)
    scrapes.scrape(1, 2)
    expect(answers).toHaveLength(1)
    fireTimer()
    expect(last()).toEqual({ requests_total: 12, live: 3, gateway_workers: 2, gateway_workers_silent: 1 })
    counted.set(3, [9, 4])
    for (const tell of late) tell()
    expect(answers).toHaveLength(2)
    scrapes.scrape(1, 3)
    expect(last()).toEqual({ requests_total: 16, live: 7, gateway_workers: 3, gateway_workers_silent: 0 })
    expect(timers.size).toBe(0)
  })

  it("a worker that is gone leaves its counters, once, and holds no round up; its next life counts from nothing", () => {
    const { answers, fireTimer, counted, last, scrapes, serve } = world(2)
    for (const worker of [1, 2]) serve(worker)
    counted.set(1, [3, 1]).set(2, [4, 2])
    scrapes.scrape(1, 1)
    counted.delete(2)
    scrapes.scrape(1, 2)
    scrapes.gone(2)
    expect(answers).toHaveLength(2)
    expect(last()).toEqual({ requests_total: 7, live: 1, gateway_workers: 1, gateway_workers_silent: 1 })
    scrapes.gone(2)
    serve(2)
    counted.set(2, [1, 0])
    scrapes.scrape(2, 3)
    expect(last()).toEqual({ requests_total: 8, live: 1, gateway_workers: 2, gateway_workers_silent: 0 })
    scrapes.gone(2)
    scrapes.scrape(1, 4)
    expect(last()).toMatchObject({ requests_total: 8, gateway_workers_silent: 1 })
    fireTimer()
    expect(answers).toHaveLength(4)
  })

  it("several scrapes at once are each answered", () => {
    const { answers, fireTimer, counted, scrapes, serve } = world(2)
    for (const worker of [1, 2]) serve(worker)
    counted.set(1, [3, 1])
    scrapes.scrape(1, 1)
    scrapes.scrape(1, 2)
    scrapes.scrape(2, 1)
    fireTimer()
    expect(answers.map(({ id, worker }) => [worker, id])).toEqual([[1, 1], [1, 2], [2, 1]])
  })
})
