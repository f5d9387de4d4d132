/**
 * Which connection of a combo's step goes first: the connections of one step stand in the order of
 * settings.fallbackStrategy, the session's own before all. Between steps the combo's strategy decides; where it compares
 * connections by itself (load, price, quota ...), its word stands before the settings', but not before the session's.
 */
import type { Target } from "#actors/request/ports/Target.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import type { Candidate, Memory, Moment, Order } from "#src/routing/models/candidate.ts"
import type { OrderOf } from "#src/routing/combos/arrange.ts"
import type { Memories, SessionPins } from "#src/routing/Memories.ts"
import * as Selection from "#src/routing/selection.ts"
import { memoryKey } from "#src/routing/strategies/index.ts"

/** The connections of one step, two or more. */
interface Group {
  readonly provider: string
  readonly targets: ReadonlyArray<Target>
  /** Where they stand in the list. */
  readonly places: ReadonlyArray<number>
  readonly candidates: ReadonlyMap<Target, Candidate>
}

/** What an account's turn in a group changes in the memory of its provider. */
interface Turn {
  readonly group: Group
  readonly remembers: string
  readonly before: Memory
  readonly after: Memory
}

/** An execution key without its connection; "" for one that stands for a whole combo. */
const stepOf = ({ executionKey, turn }: Candidate): string => turn === executionKey ? "" : executionKey.slice(0, executionKey.lastIndexOf(">") + 1)

/** Made once per list, which lives as long as its expansion. */
const known = new WeakMap<ReadonlyArray<Candidate>, ReadonlyArray<Group>>()

const groupsOf = (candidates: ReadonlyArray<Candidate>): ReadonlyArray<Group> => {
  const found = known.get(candidates)
  if (found !== undefined) return found
  const places = new Map<string, Array<number>>()
  for (const [place, candidate] of candidates.entries()) {
    const step = stepOf(candidate)
    const own = places.get(step)
    if (own === undefined) places.set(step, [place])
    else own.push(place)
  }
  const groups = [...places].flatMap(([step, own]): ReadonlyArray<Group> => {
    if (step === "" || own.length < 2) return []
    const members = own.map((place) => candidates[place] as Candidate)
    const targets = members.map(({ target }) => target)
    return [{ provider: (targets[0] as Target).provider, targets, places: own, candidates: new Map(members.map((one) => [one.target, one])) }]
  })
  known.set(candidates, groups)
  return groups
}

/** Every step of such a combo is asked, so each takes its turn. */
const asksAll = ({ strategy }: Combo): boolean => strategy === "fusion" || strategy === "pipeline" || strategy === "debate"

/** The session's own connection at the first place that its step has. */
const pinnedFirst = (order: ReadonlyArray<Candidate>, { candidates }: Group, connectionId: string): ReadonlyArray<Candidate> => {
  const isOfStep = ({ target }: Candidate): boolean => candidates.has(target)
  const to = order.findIndex(isOfStep)
  const from = order.findIndex((one) => isOfStep(one) && one.target.connection?.id === connectionId)
  if (from <= to) return order
  return [...order.slice(0, to), order[from] as Candidate, ...order.slice(to, from), ...order.slice(from + 1)]
}

/** What is particular to one request. */
export interface Asker {
  readonly moment: Moment
  /** The key's preferredConnections. */
  readonly preferred: ReadonlyArray<string>
  /** Nothing is to be remembered. */
  readonly dry: boolean
}

export class Accounts {
  private readonly settings: Selection.SelectionSettings
  private readonly memories: Memories
  private readonly pins: SessionPins
  private readonly asListed: boolean

  constructor(settings: Selection.SelectionSettings, memories: Memories, pins: SessionPins) {
    this.settings = settings
    this.memories = memories
    this.pins = pins
    this.asListed = settings.strategy === "fill-first" || settings.strategy === "priority"
  }

  /** By the usual settings connections stand as they are listed. */
  keepsList({ session }: Moment): boolean {
    return this.asListed && (this.settings.sessionAffinityTtlMs === 0 || session === null)
  }

  /** The order that `rank`, the combo's strategy, gives a list in which each step's connections stand in theirs. */
  order(combo: Combo, candidates: ReadonlyArray<Candidate>, asker: Asker, rank: OrderOf): Order {
    const groups = groupsOf(candidates)
    if (groups.length === 0) return rank(combo, candidates)
    const offered = candidates.slice()
    const all = asksAll(combo)
    const turns = groups.map((group): Turn => {
      const turn = this.turnOf(group, asker, offered)
      if (all) this.take(turn, asker)
      return turn
    })
    const ranked = rank(combo, offered)
    const [first] = ranked.order
    // A connection that is not asked first has not had its turn.
    const taken = all || first === undefined ? undefined : turns.find(({ group }) => group.candidates.has(first.target))
    if (taken !== undefined) this.take(taken, asker)
    let { order } = ranked
    for (const group of groups) {
      const pinned = this.pinOf(group, asker)
      if (pinned !== null) order = pinnedFirst(order, group, pinned)
    }
    return order === ranked.order ? ranked : { ...ranked, order }
  }

  /** The connection answered for its session. */
  answered(target: Target, moment: Moment): void {
    this.pins.keep(target, this.settings.sessionAffinityTtlMs, moment)
  }

  private turnOf(group: Group, asker: Asker, offered: Array<Candidate>): Turn {
    const { moment, preferred } = asker
    const remembers = memoryKey(this.settings.strategy, group.provider, moment)
    const before = this.memories.get(remembers)
    const { memory, order, skipped } = Selection.select(group.targets, this.settings, before, moment, { pinned: this.pinOf(group, asker), preferred })
    const arranged = [...order, ...skipped.map(({ candidate }) => candidate)]
    for (const [i, place] of group.places.entries()) offered[place] = group.candidates.get((arranged[i] as Candidate).target) as Candidate
    return { group, remembers, before, after: memory }
  }

  private take({ after, before, remembers }: Turn, { dry }: Asker): void {
    if (!dry) this.memories.set(remembers, before, after)
  }

  private pinOf({ provider }: Group, { moment }: Asker): string | null {
    return this.pins.of(provider, this.settings.sessionAffinityTtlMs, moment)
  }
}
