/**
 * Quota windows in the response headers of vendors, by a table of their families. Pure.
 *
 * Counted limits come as limit, remaining and reset (OpenAI, Groq, Cerebras, Mistral, Anthropic, the IETF drafts); account plans
 * as a used share per window (Anthropic's unified windows, `x-codex-*`).
 */
import { parseDelay } from "#actors/resilience/retryHint.ts"
import type { QuotaReading } from "#src/routing/ports/Quotas.ts"

/** Windows that are read of one answer. */
const maxWindows = 16
/** A reset further away is not believed, ms. */
const farthestReset = 32 * 86_400_000

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const periods: Readonly<Record<string, number>> = { second: 1_000, minute, hour, day, month: 30 * day }
const spans: Readonly<Record<string, number>> = { m: minute, h: hour, d: day, w: 7 * day }

type Field = "limit" | "remaining" | "reset" | "used-share" | "used-percent" | "status" | "minutes"

/** One window while its headers are gathered. */
interface Draft {
  name: string
  readonly scope: QuotaReading["scope"]
  /** A token bucket, which fills all the time; its reset is when it is full. */
  readonly refills: boolean
  lengthMs: number | null
  readonly values: Partial<Record<Field, string>>
}

/** What one header contributes; null when its name is none of the family's. */
interface Part extends Pick<Draft, "name" | "scope" | "refills" | "lengthMs"> {
  readonly field: Field
}

interface Family {
  readonly prefix: string
  readonly read: (name: string) => Part | null
}

const counted = /^x-ratelimit-(limit|remaining|reset)-(requests|req|tokens|input-tokens|output-tokens)(?:-(second|minute|hour|day|month))?$/
const plain = /^(?:x-)?ratelimit-(limit|remaining|reset)$/
const anthropic = /^anthropic-ratelimit-(requests|tokens|input-tokens|output-tokens)-(limit|remaining|reset)$/
const unified = /^anthropic-ratelimit-unified-((\d+)([mhdw])(_[a-z0-9_]+)?)-(utilization|reset|status)$/
const codex = /^x-codex-(primary|secondary)-(used-percent|window-minutes|reset-at|reset-after-seconds)$/

const codexFields: Readonly<Record<string, Field>> = {
  "used-percent": "used-percent", "window-minutes": "minutes", "reset-at": "reset", "reset-after-seconds": "reset"
}

const families: ReadonlyArray<Family> = [
  {
    prefix: "x-ratelimit-",
    read: (name) => {
      const [, field, unit, period] = counted.exec(name) ?? plain.exec(name) ?? []
      if (field === undefined) return null
      if (unit === undefined) return { name: "default", scope: "connection", refills: false, lengthMs: null, field: field as Field }
      // Vendors count these per model; with a period in the name it is a fixed window, else a bucket.
      const kind = unit === "req" ? "requests" : unit
      return {
        name: period === undefined ? kind : `${kind}-${period}`, scope: "model", refills: period === undefined,
        lengthMs: period === undefined ? null : periods[period] ?? null, field: field as Field
      }
    }
  },
  {
    prefix: "anthropic-ratelimit-",
    read: (name) => {
      const [, kind, field] = anthropic.exec(name) ?? []
      // "The time when the limit will be fully replenished": a bucket, per model.
      if (kind !== undefined) return { name: kind, scope: "model", refills: true, lengthMs: null, field: field as Field }
      const [, window, count, unit, family, what] = unified.exec(name) ?? []
      if (window === undefined) return null
      return {
        // `7d` is the account's; `7d_opus` counts one family of models.
        name: window, scope: family === undefined ? "connection" : "model", refills: false, lengthMs: Number(count) * (spans[unit ?? ""] ?? 0),
        field: what === "utilization" ? "used-share" : what as Field
      }
    }
  },
  {
    prefix: "x-codex-",
    read: (name) => {
      const [, window, what] = codex.exec(name) ?? []
      const field = what === undefined ? undefined : codexFields[what]
      return window === undefined || field === undefined ? null : { name: window, scope: "connection", refills: false, lengthMs: null, field }
    }
  },
  {
    prefix: "ratelimit-",
    read: (name) => {
      const [, field] = plain.exec(name) ?? []
      return field === undefined ? null : { name: "default", scope: "connection", refills: false, lengthMs: null, field: field as Field }
    }
  }
]

/** Whether any header is of a quota family; the first letters decide, for this is asked of every answer. */
export const mayHold = (headers: ReadonlyArray<string>): boolean => {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    switch (name.charCodeAt(0)) {
      case 97 /* a */:
        if (name.startsWith("anthropic-ratelimit-")) return true
        break
      case 114 /* r */:
        if (name.startsWith("ratelimit")) return true
        break
      case 120 /* x */:
        if (name.startsWith("x-ratelimit-") || name.startsWith("x-codex-")) return true
    }
  }
  return false
}

/** The number that a value begins with: `100`, `100, 100;w=60`; null for anything else. */
const numberOf = (text: string | undefined): number | null => {
  const found = text === undefined ? null : /^\s*(\d+(?:\.\d+)?)/.exec(text)
  return found === null ? null : Number(found[1])
}

const round = (value: number): number => Math.round(Math.min(100, Math.max(0, value)) * 100) / 100

/** `300` minutes to `5h`, `10080` to `7d`. */
const spanOf = (minutes: number): string =>
  minutes % 1_440 === 0 ? `${minutes / 1_440}d` : minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`

/** ms since the epoch; undefined when the window is over, which says nothing of the next one. */
const resetOf = (text: string | undefined, now: number): number | null | undefined => {
  if (text === undefined) return null
  const delay = parseDelay(text, now)
  if (delay === null) return null
  return delay <= 0 ? undefined : Math.ceil(now + Math.min(delay, farthestReset))
}

const remainingOf = ({ values }: Draft): number | null => {
  if (values.status === "rejected") return 0
  const share = numberOf(values["used-share"])
  if (share !== null) return round(100 - share * 100)
  const used = numberOf(values["used-percent"])
  if (used !== null) return round(100 - used)
  const limit = numberOf(values.limit)
  const remaining = numberOf(values.remaining)
  if (remaining === null) return null
  // A limit of 0 is how some say that there is none.
  if (limit === null || limit === 0) return limit === null && remaining === 0 ? 0 : null
  return round(remaining / limit * 100)
}

const readingOf = (draft: Draft, now: number): QuotaReading | null => {
  const { values } = draft
  const minutes = numberOf(values.minutes)
  if (minutes === 0) return null
  const remainingPercent = remainingOf(draft)
  const resetsAt = resetOf(values.reset, now)
  if (remainingPercent === null || resetsAt === undefined) return null
  return {
    name: minutes === null ? draft.name : spanOf(minutes),
    remainingPercent,
    resetsAt,
    refillsFrom: draft.refills && resetsAt !== null ? now : null,
    scope: draft.scope,
    limit: numberOf(values.limit),
    remaining: numberOf(values.remaining),
    lengthMs: minutes === null ? draft.lengthMs : minutes * minute,
    seenAt: now
  }
}

/** `limit=100, remaining=50, reset=30` of the older draft, and `"name";r=50;t=30` of the newer ones. */
const combined = (value: string, policy: string | undefined, take: (part: Part, value: string) => void): void => {
  const base = { scope: "connection", refills: false, lengthMs: null } as const
  const older = /(?:^|[\s,;])(limit|remaining|reset)=(\d+)/g
  let found = older.exec(value)
  for (; found !== null; found = older.exec(value)) take({ ...base, name: "default", field: found[1] as Field }, found[2] as string)
  for (const [, name = "default", parameters = ""] of value.matchAll(/"([\w.-]{1,64})"((?:\s*;\s*[a-z]+="?[^",;]*"?)+)/g)) {
    const remaining = /;\s*r=(\d+)/.exec(parameters)?.[1]
    const reset = /;\s*t=(\d+)/.exec(parameters)?.[1]
    const rule = policy === undefined ? undefined : policy.split(",").find((item) => item.includes(`"${name}"`))
    const limit = rule === undefined ? undefined : /;\s*q=(\d+)/.exec(rule)?.[1]
    const window = rule === undefined ? undefined : /;\s*w=(\d+)/.exec(rule)?.[1]
    const part = { ...base, name, lengthMs: window === undefined ? null : Number(window) * 1_000 }
    if (limit !== undefined) take({ ...part, field: "limit" }, limit)
    if (remaining !== undefined) take({ ...part, field: "remaining" }, remaining)
    if (reset !== undefined) take({ ...part, field: "reset" }, reset)
  }
}

/** The windows of one answer. `headers` is flat with lower-case names, `now` when they came (ms since the epoch). */
export const read = (headers: ReadonlyArray<string>, now: number): ReadonlyArray<QuotaReading> => {
  const drafts = new Map<string, Draft>()
  const take = (part: Part, value: string): void => {
    const known = drafts.get(part.name)
    if (known === undefined && drafts.size >= maxWindows) return
    const draft = known ?? { ...part, values: {} }
    if (known === undefined) drafts.set(part.name, draft)
    draft.lengthMs ??= part.lengthMs
    // The first of two headers for one thing stands.
    draft.values[part.field] ??= value
  }
  let together: string | undefined
  let policy: string | undefined
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as string
    const value = (headers[i + 1] as string).slice(0, 256)
    if (name === "ratelimit") together = value
    else if (name === "ratelimit-policy") policy = value
    else {
      const part = families.find(({ prefix }) => name.startsWith(prefix))?.read(name) ?? null
      if (part !== null) take(part, value)
    }
  }
  if (together !== undefined) combined(together, policy, take)
  const readings: Array<QuotaReading> = []
  for (const draft of drafts.values()) {
    const reading = readingOf(draft, now)
    if (reading !== null) readings.push(reading)
  }
  return readings
}
