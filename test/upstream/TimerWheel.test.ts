import { describe, expect, it } from "vitest"
import * as Ticker from "#actors/Ticker.ts"
import { WheelEntry, TimerWheel } from "#src/platform/upstream/TimerWheel.ts"

/** An entry with one deadline that may move. */
class Probe extends WheelEntry {
  due: number
  firedAt = 0
  looks = 0
  readonly onFire: () => void
  constructor(due: number, onFire: () => void = () => {}) {
    super()
    this.due = due
    this.onFire = onFire
  }
  onTick(now: number): number {
    this.looks++
    if (this.firedAt !== 0) return Infinity
    if (this.due > now) return this.due
    this.firedAt = now
    this.onFire()
    return Infinity
  }
}

const wheelAt = (start: number) => {
  const clock = { now: start }
  const wheel = new TimerWheel({ tickMs: 50, now: () => clock.now })
  const step = (ms: number) => {
    for (const end = clock.now + ms; clock.now < end;) {
      clock.now = Math.min(clock.now + 50, end)
      wheel.advance()
    }
  }
  return { clock, wheel, step }
}

describe("the timer wheel", () => {
  it("fires every entry between its time and two ticks later, near or beyond its ring", () => {
    let seed = 11
    const random = () => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648
    const { clock, step, wheel } = wheelAt(123_457)
    const probes = Array.from({ length: 2_000 }, () => new Probe(clock.now + 1 + random() * 90_000))
    for (const probe of probes) wheel.schedule(probe, probe.due)
    step(91_000)
    for (const probe of probes) {
      expect(probe.firedAt).toBeGreaterThanOrEqual(probe.due)
      expect(probe.firedAt - probe.due).toBeLessThanOrEqual(100)
    }
    expect(wheel.size).toBe(0)
    wheel.close()
  })

  it("does not move an entry whose deadline moves later, and looks at it rarely", () => {
    const { clock, step, wheel } = wheelAt(1_000)
    const probe = new Probe(clock.now + 1_000)
    wheel.schedule(probe, probe.due)
    for (let i = 0; i < 200; i++) {
      probe.due = clock.now + 1_000
      wheel.schedule(probe, probe.due)
      step(50)
    }
    expect(probe.firedAt).toBe(0)
    expect(probe.looks).toBeLessThanOrEqual(11)
    step(1_050)
    expect(probe.firedAt - probe.due).toBeLessThanOrEqual(100)
    wheel.close()
  })

  it("moves an entry whose deadline comes sooner", () => {
    const { clock, step, wheel } = wheelAt(1_000)
    const probe = new Probe(clock.now + 20_000)
    wheel.schedule(probe, probe.due)
    probe.due = clock.now + 100
    wheel.schedule(probe, probe.due)
    step(150)
    expect(probe.firedAt).toBeGreaterThan(0)
    expect(wheel.size).toBe(0)
    wheel.close()
  })

  it("survives entries that cancel or schedule others while it runs, and a long stall", () => {
    const { clock, step, wheel } = wheelAt(1_000)
    const others = Array.from({ length: 50 }, () => new Probe(clock.now + 100))
    const late = new Probe(clock.now + 100_000)
    const first = new Probe(clock.now + 100, () => {
      for (const other of others) {
        wheel.cancel(other)
        other.firedAt = 1
      }
      wheel.schedule(late, late.due)
    })
    wheel.schedule(first, first.due)
    for (const other of others) wheel.schedule(other, other.due)
    clock.now += 60_000
    wheel.advance()
    expect(first.firedAt).toBeGreaterThan(0)
    expect(wheel.size).toBe(1)
    step(41_000)
    expect(late.firedAt - late.due).toBeLessThanOrEqual(100)
    wheel.close()
  })

  it("keeps no interval when it is empty", () => {
    const { step, wheel } = wheelAt(1_000)
    const probe = new Probe(1_100)
    expect(wheel.running).toBe(false)
    wheel.schedule(probe, probe.due)
    expect(wheel.running).toBe(true)
    wheel.cancel(probe)
    step(50 * 81)
    expect(wheel.running).toBe(false)
  })

  it("tells of an entry that throws, which costs the others nothing, and looks at it again in a second", () => {
    const clock = { now: 1_000 }
    const heard: Array<string> = []
    const wheel = new TimerWheel({ tickMs: 50, now: () => clock.now, ticker: Ticker.make((error) => heard.push(String(error))) })
    const broken = new Probe(1_100, () => {
      broken.firedAt = 0
      if (broken.looks === 1) throw new Error("broken")
      broken.firedAt = clock.now
    })
    const others = [new Probe(1_100), new Probe(1_100)]
    wheel.schedule(others[0] as Probe, 1_100)
    wheel.schedule(broken, 1_100)
    wheel.schedule(others[1] as Probe, 1_100)
    clock.now = 1_150
    wheel.advance()
    expect([others.map(({ firedAt }) => firedAt), heard, wheel.size]).toEqual([[1_150, 1_150], ["Error: broken"], 1])
    clock.now = 2_250
    wheel.advance()
    expect([broken.firedAt, wheel.size]).toEqual([2_250, 0])
    wheel.close()
  })
})
