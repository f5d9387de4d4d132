/** Numbers, times, frames and colours of the dashboard, without a browser. */
import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it } from "vitest"
import { count, duration, money, percent, tokens, total } from "../../dashboard/format/numbers.ts"
import { ago, left } from "../../dashboard/format/time.ts"
import { MOST_REQUESTS, Ring, SPAN_MS } from "../../dashboard/live/Ring.ts"
import { chance } from "#test/support/chance.ts"
import { FrameSplitter } from "../../dashboard/screens/play/frames.ts"

describe("numbers", () => {
  it("shows money with two decimals, and three significant digits where two would say nothing", () => {
    expect([0, 1234.5, 2, 0.5, 0.000412, 0.0123456, -0.02].map(money)).toEqual(["$0.00", "$1,234.50", "$2.00", "$0.500", "$0.000412", "$0.0123", "-$0.0200"])
  })

  it("shows totals with two decimals, and never a zero for what is not", () => {
    expect([0, 0.000004, 0.01, 0.456, 1234.5, -0.02].map(total)).toEqual(["$0.00", "<$0.01", "$0.01", "$0.46", "$1,234.50", "-$0.02"])
  })

  it("shows a dash for what is not known, never a zero", () => {
    for (const form of [money, total, tokens, count, duration, percent]) expect([form(null), form(undefined), form(Number.NaN)]).toEqual(["–", "–", "–"])
  })

  it("shows durations and token counts in the largest fitting unit", () => {
    expect([812, 1_240, 59_940, 123_000, 11_100_000, 190_000_000].map(duration)).toEqual(["812 ms", "1.24 s", "59.9 s", "2 m 03 s", "3 h 05 m", "2 d 4 h"])
    expect([950, 9_999, 12_400, 1_250_000].map(tokens)).toEqual(["950", "9,999", "12.4k", "1.3M"])
    expect([0, 0.004, 0.5, 1].map(percent)).toEqual(["0%", "0.4%", "50%", "100%"])
  })

  it("tells how long ago or until when", () => {
    const now = Date.parse("2026-05-01T12:00:00.000Z")
    expect(["2026-05-01T11:59:48.000Z", "2026-05-01T12:02:05.000Z", "2026-05-01T12:00:00.500Z", null].map((at) => ago(at, now))).toEqual(["12 s ago", "in 2 m 05 s", "just now", "–"])
    expect([left("2026-05-01T12:00:03.000Z", now), left("2026-05-01T11:00:00.000Z", now), left(null, now)]).toEqual([3_000, 0, 0])
  })
})

describe("frames of a stream", () => {
  const events = ": hello\r\n\r\nevent: a\ndata: {\"x\":1}\n\ndata: {\"x\":\ndata: 2}\n\ndata: [DONE]\n\n"
  const lines = "{\"x\":1}\n{\"x\":2}\n{\"x\":3}"
  const split = (contentType: string, parts: ReadonlyArray<string>) => {
    const splitter = new FrameSplitter(contentType)
    return [...parts.flatMap((part) => splitter.push(part)), ...splitter.end()]
  }

  it("are the same wherever the bytes were cut", () => {
    for (const [contentType, text, values] of [["text/event-stream", events, [null, { x: 1 }, { x: 2 }, null]], ["application/x-ndjson", lines, [{ x: 1 }, { x: 2 }, { x: 3 }]]] as const) {
      const whole = split(contentType, [text])
      expect(whole.map(({ value }) => value)).toEqual(values)
      const random = chance()
      for (let round = 0; round < 200; round++) {
        const cuts = Array.from({ length: 6 }, () => random.below(text.length))
        const places = [0, ...cuts, text.length].sort((a, b) => a - b)
        const seen = split(contentType, places.slice(1).map((end, index) => text.slice(places[index], end)))
        expect(seen, `seed ${random.seed}, cut at ${places.join()}`).toEqual(whole)
      }
    }
  })
})

describe("the ring of the last requests", () => {
  const at = Date.UTC(2026, 0, 1)
  const request = (id: string, endedAt: number, failed = false) => ({ id, endedAt, tookMs: 2_000, failed })

  it("counts all of a second, keeps the newest one by one, and forgets what is older than its span", () => {
    const ring = new Ring()
    for (let n = 0; n < MOST_REQUESTS + 5; n++) ring.add(request(`r${n}`, at + n % 1_000, n % 10 === 0))
    expect(ring.secondOf(at + 999)).toEqual({ ended: MOST_REQUESTS + 5, failed: MOST_REQUESTS / 10 + 1 })
    expect(ring.during(at).ended.length).toBe(MOST_REQUESTS)
    expect(ring.during(at).ended[0]?.failed).toBe(true)
    expect(ring.during(at - 1_000)).toEqual({ ended: [], ran: MOST_REQUESTS })
    ring.add(request("later", at + SPAN_MS))
    expect([ring.secondOf(at), ring.secondOf(at + SPAN_MS)]).toEqual([{ ended: 0, failed: 0 }, { ended: 1, failed: 0 }])
    ring.add(request("too late", at))
    expect([ring.secondOf(at), ring.secondOf(at + SPAN_MS)]).toEqual([{ ended: 0, failed: 0 }, { ended: 1, failed: 0 }])
  })

  it("counts a request once that is in the log and in a live event", () => {
    const ring = new Ring()
    ring.add(request("event first", at))
    ring.seed([request("event first", at), request("log first", at)])
    ring.add(request("log first", at))
    expect(ring.secondOf(at)).toEqual({ ended: 2, failed: 0 })
  })
})

describe("colours", () => {
  const css = fs.readFileSync(path.join(import.meta.dirname, "../../dashboard/style/tokens.css"), "utf8")
  const pairs = new Map([...css.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)].map(([, name, light, dark]) => [name, [light, dark] as const]))
  const luminance = (hex: string): number => {
    const [r, g, b] = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    return 0.2126 * (r ?? 0) + 0.7152 * (g ?? 0) + 0.0722 * (b ?? 0)
  }
  const contrast = (a: string, b: string): number => {
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y)
    return ((light ?? 0) + 0.05) / ((dark ?? 0) + 0.05)
  }
  const colour = (name: string, theme: 0 | 1): string => {
    const found = pairs.get(name)?.[theme]
    if (found === undefined) throw new Error(`tokens.css has no colour ${name}`)
    return found
  }

  it("have the contrast that texts (4.5) and controls (3) need, in both themes, on every ground they stand on", () => {
    const texts = ["text", "muted", "accent", "ok", "warn", "bad", "info", "skip"].flatMap((name) => ["bg", "panel", "sunk"].map((ground) => [name, ground, 4.5] as const))
    const softs = [["ok", "ok-soft"], ["warn", "warn-soft"], ["bad", "bad-soft"], ["info", "info-soft"], ["accent", "accent-soft"], ["text", "ok-soft"], ["text", "warn-soft"], ["text", "bad-soft"], ["on-accent", "accent"]].map(([a, b]) => [a ?? "", b ?? "", 4.5] as const)
    const controls = ["bg", "panel"].map((ground) => ["control", ground, 3] as const)
    const poor = ([0, 1] as const).flatMap((theme) => [...texts, ...softs, ...controls].flatMap(([front, ground, least]) => {
      const seen = contrast(colour(front, theme), colour(ground, theme))
      return seen >= least ? [] : [`${theme === 0 ? "light" : "dark"}: ${front} on ${ground} has ${seen.toFixed(2)}, not ${least}`]
    }))
    expect(poor).toEqual([])
  })
})
