/** The history of many clients of one lease store, and what must be true of it. Pure. */
import type { Lease } from "#schemas/protocols/Lease.ts"

/** How long a lease lives in these histories, ms. */
export const ttlMs = 200

export interface Said {
  /** `Down`: nothing is known about what the call did. */
  readonly tag: string
  readonly lease?: Lease
  readonly reused?: boolean
}

/** One line of a client's file; times of the machine's monotonic clock, ms. */
export interface Line {
  readonly id: string
  readonly phase: "asked" | "heard"
  readonly op: "acquire" | "find" | "renew" | "move" | "release"
  readonly owner: string
  /** 0 for acquire. */
  readonly generation: number
  readonly at: number
  readonly said?: Said
}

/** A call: `to` is Infinity for one whose reply nobody heard. */
export interface Call extends Pick<Line, "op" | "owner" | "generation"> {
  readonly from: number
  readonly to: number
  readonly said: Said
}

/** When everything in the store was lost. */
export interface Loss {
  readonly from: number
  readonly to: number
}

export const callsOf = (lines: ReadonlyArray<Line>): ReadonlyArray<Call> => {
  const heard = new Map(lines.filter(({ phase }) => phase === "heard").map((line) => [line.id, line]))
  return lines.filter(({ phase }) => phase === "asked").map(({ at, generation, id, op, owner }) => {
    const reply = heard.get(id)
    return { op, owner, generation, from: at, to: reply?.at ?? Infinity, said: reply?.said ?? { tag: "Down" } }
  }).sort((a, b) => a.from - b.from)
}

const nameOf = (lease: Pick<Lease, "owner" | "generation">): string => `${lease.owner} #${lease.generation}`

/** A lease as its holder saw it on one connection without a break. */
interface Stay {
  readonly lease: string
  readonly connection: string
  /** The holder knew it from here ... */
  readonly from: number
  /** ... to here: the lease stood at some moment after. */
  to: number
}

/** Everything that is wrong with a history; nothing for a good one. */
export const faultsOf = (calls: ReadonlyArray<Call>, losses: ReadonlyArray<Loss>): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const positive = calls.filter(({ op, said }) => said.lease !== undefined && op !== "release")
  const byLease = Map.groupBy(positive, ({ said }) => nameOf(said.lease as Lease))

  // Nobody is shown another lease than the one that was claimed.
  for (const { generation, op, owner, said: { lease } } of calls) {
    if (lease !== undefined && (lease.owner !== owner || (generation > 0 && lease.generation !== generation))) {
      faults.push(`${op} of ${nameOf({ owner, generation })} was answered with ${nameOf(lease)}`)
    }
  }

  // A connection is never known to be held by two at the same moment.
  const stays: Array<Stay> = []
  for (const [lease, seen] of byLease) {
    let stay: Stay | null = null
    let last: Call | null = null
    for (const call of [...seen].sort((a, b) => a.to - b.to)) {
      const { connection } = call.said.lease as Lease
      // Overlapping calls of one owner have no order: they prove nothing about the time between them.
      const inOrder: boolean = last === null || last.to < call.from
      last = call
      if (stay !== null && inOrder && stay.connection === connection) stay.to = call.from
      else stays.push(stay = { lease, connection, from: call.to, to: call.to })
    }
  }
  for (const [i, one] of stays.entries()) {
    for (const other of stays.slice(i + 1)) {
      if (one.connection !== other.connection || one.lease === other.lease || one.from >= one.to || other.from >= other.to) continue
      const moved = [one, other].some(({ lease }) => calls.some(({ from, op, owner, generation, to }) =>
        op === "move" && nameOf({ owner, generation }) === lease && from < Math.min(one.to, other.to) && to > Math.max(one.from, other.from)))
      if (!moved && Math.max(one.from, other.from) < Math.min(one.to, other.to)) faults.push(`${one.lease} and ${other.lease} both held ${one.connection}`)
    }
  }

  // By the store's own clock: who never asked to leave a connection keeps it until its time is over.
  const left = new Set(calls.flatMap(({ generation, op, owner }) => op === "move" || op === "release" ? [nameOf({ owner, generation })] : []))
  const spans = [...byLease].map(([lease, seen]) => {
    const leases = seen.map(({ said }) => said.lease as Lease)
    return {
      lease, stays: !left.has(lease), connection: leases[0]?.connection, acquiredAt: leases[0]?.acquiredAt ?? 0,
      expiresAt: Math.max(...leases.map(({ expiresAt }) => expiresAt)), firstAsked: Math.min(...seen.map(({ from }) => from)), firstHeard: Math.min(...seen.map(({ to }) => to))
    }
  })
  for (const one of spans) {
    for (const other of spans) {
      if (one === other || !one.stays || one.connection !== other.connection || other.acquiredAt < one.acquiredAt || other.acquiredAt >= one.expiresAt) continue
      // One that was lost with the store held nothing any more; the other was got before its first reply was heard.
      if (losses.some(({ from, to }) => to >= one.firstAsked && from <= other.firstHeard)) continue
      const landed = calls.some(({ from, said, to }) => said.lease !== undefined && nameOf(said.lease) === other.lease && to !== Infinity && from >= one.firstAsked)
      if (landed && !left.has(other.lease)) faults.push(`${other.lease} got ${one.connection} ${one.expiresAt - other.acquiredAt} ms before ${one.lease} was over`)
    }
  }

  // Generations of an owner rise, and none is granted twice.
  const news = calls.filter(({ op, said }) => op === "acquire" && said.reused === false)
  const granted = new Set<string>()
  for (const { said } of news) {
    const name = nameOf(said.lease as Lease)
    if (granted.has(name)) faults.push(`${name} was granted twice`)
    granted.add(name)
  }
  for (const one of news) {
    for (const other of news) {
      if (one.owner !== other.owner || one.to >= other.from) continue
      const [before, after] = [one.said.lease?.generation ?? 0, other.said.lease?.generation ?? 0]
      if (after <= before) faults.push(`${one.owner}: generation ${after} came after ${before}`)
    }
  }

  // What was stale once, released, or lost is never good again.
  const ends = new Map<string, number>()
  const end = (lease: string, at: number) => ends.set(lease, Math.min(at, ends.get(lease) ?? Infinity))
  for (const { generation, op, owner, said, to } of calls) {
    if (generation > 0 && (said.tag === "Stale" || (op === "release" && said.tag === "Held"))) end(nameOf({ owner, generation }), to)
  }
  for (const one of news) {
    for (const other of news) if (one.owner === other.owner && one.to < other.from) end(nameOf(one.said.lease as Lease), other.to)
  }
  for (const [lease, seen] of byLease) {
    for (const loss of losses) if (Math.min(...seen.map(({ to }) => to)) < loss.from) end(lease, loss.to)
  }
  for (const { from, op, said } of calls) {
    const lease = said.lease === undefined ? null : nameOf(said.lease)
    const ended = lease === null ? undefined : ends.get(lease)
    if (ended !== undefined && from > ended) faults.push(`${lease} was over and ${op} found it again`)
  }
  return faults
}
