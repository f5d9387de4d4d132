/** The newest reading of every window, by connection and by model on it; windows end by themselves. */
import { type HeldReading, type QuotaReading, remainingAt } from "#src/routing/ports/Quotas.ts"

/** How long a reading without a reset counts, ms. */
const believedMs = 60_000
/** Models of one connection whose windows are kept; the one noted longest ago goes first. */
const maxModels = 256

type Readings = ReadonlyArray<QuotaReading>

interface Account {
  own: Readings
  readonly models: Map<string, Readings>
  /** When the first of its windows ends, ms since the epoch. */
  nextEnd: number
}

const none: Readings = []

const endOf = (reading: QuotaReading): number => reading.resetsAt ?? reading.seenAt + (reading.believedMs ?? believedMs)

/** Newer readings of the same window take the place of older ones; an answer that was slow to end does not bring old news. */
const merged = (known: Readings, news: Readings): Readings => {
  if (news.length === 0) return known
  const older = known.filter((one) => !news.some((other) => other.name === one.name && other.seenAt >= one.seenAt))
  return [...older, ...news.filter((one) => !older.some(({ name }) => name === one.name))]
}

export class QuotaTable {
  private readonly accounts = new Map<string, Account>()

  get size(): number {
    return this.accounts.size
  }

  note(connectionId: string, model: string, readings: Readings): void {
    if (readings.length === 0) return
    const account: Account = this.accounts.get(connectionId) ?? { own: none, models: new Map(), nextEnd: Infinity }
    this.accounts.set(connectionId, account)
    account.own = merged(account.own, readings.filter(({ scope }) => scope === "connection"))
    const ofModel = readings.filter(({ scope }) => scope === "model")
    if (ofModel.length > 0) {
      const known = account.models.get(model) ?? none
      account.models.delete(model)
      account.models.set(model, merged(known, ofModel))
      if (account.models.size > maxModels) account.models.delete(account.models.keys().next().value as string)
    }
    for (const reading of readings) account.nextEnd = Math.min(account.nextEnd, endOf(reading))
  }

  /** Of a connection and one model on it. */
  windows(connectionId: string, model: string, now: number): Readings {
    const account = this.accountAt(connectionId, now)
    if (account === null) return none
    const ofModel = account.models.get(model)
    if (ofModel === undefined) return account.own
    return account.own.length === 0 ? ofModel : [...account.own, ...ofModel]
  }

  /** Tightest first. */
  held(connectionId: string | null, now: number): ReadonlyArray<HeldReading> {
    const held: Array<HeldReading> = []
    for (const id of connectionId === null ? [...this.accounts.keys()] : [connectionId]) {
      const account = this.accountAt(id, now)
      if (account === null) continue
      for (const reading of account.own) held.push({ connectionId: id, model: null, reading })
      for (const [model, readings] of account.models) for (const reading of readings) held.push({ connectionId: id, model, reading })
    }
    return held.sort((a, b) => remainingAt(a.reading, now) - remainingAt(b.reading, now))
  }

  /** Forgets the connections that are no more. */
  keep(exists: (connectionId: string) => boolean): void {
    for (const id of this.accounts.keys()) if (!exists(id)) this.accounts.delete(id)
  }

  private accountAt(connectionId: string, now: number): Account | null {
    const account = this.accounts.get(connectionId)
    if (account === undefined) return null
    if (now < account.nextEnd) return account
    return this.pruned(connectionId, account, now)
  }

  private pruned(connectionId: string, account: Account, now: number): Account | null {
    const lasting = (readings: Readings): Readings => readings.filter((reading) => endOf(reading) > now)
    account.own = lasting(account.own)
    account.nextEnd = Infinity
    for (const reading of account.own) account.nextEnd = Math.min(account.nextEnd, endOf(reading))
    for (const [model, readings] of account.models) {
      const left = lasting(readings)
      if (left.length === 0) account.models.delete(model)
      else account.models.set(model, left)
      for (const reading of left) account.nextEnd = Math.min(account.nextEnd, endOf(reading))
    }
    if (account.own.length > 0 || account.models.size > 0) return account
    this.accounts.delete(connectionId)
    return null
  }
}
