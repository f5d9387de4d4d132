/**
 * Which request may go next: the queues of requests that wait for a place. Bookkeeping only: each method is a command, its answer
 * the reply; time comes in as `now` (ms since the epoch), and whether a place is free is asked of the world.
 *
 * A line belongs to one scarce resource (a connection, a model of a combo). A waiter with several choices waits in all of their
 * lines and leaves them together. A line has lanes, one for each tenant, which have turns one after the other. There is no overtaking
 * in a lane. A line in which no waiter can go moves again when a place is freed, or at the time that the world named.
 */

/** What stands between a waiter and one of its choices. */
export interface Block {
  /** The line it belongs in because of that. */
  readonly line: string
  /** ms since the epoch; null = unknown, until a place is freed; Infinity = later than this waiter's longest wait. */
  readonly until: number | null
}

/** Asked for one choice of a waiter; null = it may go. It must answer the same until a turn was given or time has passed. */
export type Look<W> = (waiter: W, choice: number, now: number) => Block | null

export interface QueueTurn<W> {
  readonly waiter: W
  /** `late`: its time is over, or there is nothing left to wait for. */
  readonly end: "go" | "late"
}

/** A waiter, in the line of each of its choices. */
export class QueueEntry<W> {
  /** Null once its turn has come or it has left: an alarm that is still set holds no request. */
  waiter: W | null
  /** The name of its lane, the same in all of its lines. */
  readonly lane: string
  /** ms since the epoch. */
  readonly deadline: number
  readonly arrival: number
  readonly nodes: Array<Node<W>> = []

  constructor(waiter: W, lane: string, deadline: number, arrival: number) {
    this.waiter = waiter
    this.lane = lane
    this.deadline = deadline
    this.arrival = arrival
  }
}

interface Node<W> {
  readonly entry: QueueEntry<W>
  readonly choice: number
  line: Line<W>
  /** Null while it stands in none. */
  lane: Lane<W> | null
  before: Node<W> | null
  after: Node<W> | null
}

/** The waiters of one tenant in a line; an empty lane is forgotten. */
interface Lane<W> {
  first: Node<W> | null
  last: Node<W> | null
  /** Waiters; one with two choices here counts once. */
  size: number
}

interface Line<W> {
  readonly id: string
  /** In the order of their turns: a lane that had one goes to the end. */
  readonly lanes: Map<string, Lane<W>>
  /** Waiters in all lanes. */
  size: number
  /** A waiter in it may be able to go. */
  stirred: boolean
  /** When it is looked at again by itself, ms since the epoch. */
  lookAt: number
}

interface Alarm<W> {
  readonly at: number
  readonly entry: QueueEntry<W> | null
  readonly line: Line<W> | null
}

export class WaitQueue<W> {
  private readonly look: Look<W>
  private readonly lines = new Map<string, Line<W>>()
  private readonly stirred: Array<Line<W>> = []
  /** Binary heap by time. Alarms of waiters that have left stay until their time; they hold nothing. */
  private alarms: Array<Alarm<W>> = []
  private arrivals = 0
  private waiting = 0

  constructor(look: Look<W>) {
    this.look = look
  }

  /** Waiters in all lines. */
  get size(): number {
    return this.waiting
  }

  sizeOf(line: string): number {
    return this.lines.get(line)?.size ?? 0
  }

  /** Waiters of one lane of a line. */
  laneSizeOf(line: string, lane: string): number {
    return this.lines.get(line)?.lanes.get(lane)?.size ?? 0
  }

  /** All waiters, in no order. */
  entries(): ReadonlyArray<QueueEntry<W>> {
    const all = new Set<QueueEntry<W>>()
    for (const { lanes } of this.lines.values()) {
      for (const { first } of lanes.values()) for (let node = first; node !== null; node = node.after) all.add(node.entry)
    }
    return [...all]
  }

  /** Lines that are remembered; none without waiters. */
  get lineCount(): number {
    return this.lines.size
  }

  /** The lines and how many stand in each. */
  sizes(): ReadonlyArray<readonly [line: string, size: number]> {
    return Array.from(this.lines.values(), ({ id, size }) => [id, size] as const).filter(([, size]) => size > 0)
  }

  /** Puts a waiter at the end of its lane in the line of each of its choices; `blocks` by choice, as the world just answered. */
  join(waiter: W, blocks: ReadonlyArray<Block>, deadline: number, lane: string): QueueEntry<W> {
    const entry = new QueueEntry(waiter, lane, deadline, ++this.arrivals)
    for (const [choice, { line: id, until }] of blocks.entries()) {
      const line = this.line(id)
      const node: Node<W> = { entry, choice, line, lane: null, before: null, after: null }
      entry.nodes.push(node)
      this.link(node)
      if (until !== null) this.lookAgain(line, until)
    }
    this.waiting++
    this.ring({ at: deadline, entry, line: null })
    return entry
  }

  /** Takes a waiter out of every line; false when its turn had come already. */
  leave(entry: QueueEntry<W>): boolean {
    if (entry.waiter === null) return false
    entry.waiter = null
    this.waiting--
    for (const node of entry.nodes) {
      const { line } = node
      this.unlink(node)
      if (!line.stirred) this.forget(line)
    }
    return true
  }

  /** Something of this line may be free. */
  freed(id: string): void {
    const line = this.lines.get(id)
    if (line !== undefined) this.stir(line)
  }

  freedAll(): void {
    for (const line of this.lines.values()) this.stir(line)
  }

  /** The next turn that is due; the caller acts on it and asks again, until null. */
  next(now: number): QueueTurn<W> | null {
    for (let alarm = this.alarms[0]; alarm !== undefined && alarm.at <= now; alarm = this.alarms[0]) {
      this.dropFirst()
      const { entry, line } = alarm
      const late = entry === null ? null : this.take(entry)
      if (late !== null) return { waiter: late, end: "late" }
      if (line !== null && line.lookAt === alarm.at) {
        line.lookAt = Number.POSITIVE_INFINITY
        this.stir(line)
      }
    }
    for (let line = this.stirred.at(-1); line !== undefined; line = this.stirred.at(-1)) {
      const turn = this.along(line, now)
      if (turn !== null) return turn
      if (this.stirred.at(-1) !== line) continue
      this.stirred.pop()
      line.stirred = false
      this.forget(line)
    }
    return null
  }

  /** When `next` must be asked again by itself, ms since the epoch; null = not at all. */
  wakeAt(): number | null {
    for (let alarm = this.alarms[0]; alarm !== undefined; alarm = this.alarms[0]) {
      const { entry, line } = alarm
      if (entry !== null ? entry.waiter !== null : line !== null && line.lookAt === alarm.at && line.size > 0) return alarm.at
      this.dropFirst()
    }
    return null
  }

  /** The first waiter of a line that waits for the line's own resource: it goes, or none does. */
  private along(line: Line<W>, now: number): QueueTurn<W> | null {
    for (const [name, lane] of line.lanes) {
      for (let node = lane.first; node !== null;) {
        const { after, choice, entry } = node
        const waiter = entry.waiter as W
        const block = this.look(waiter, choice, now)
        if (block === null) {
          this.leave(entry)
          this.hadTurn(line, name)
          return { waiter, end: "go" }
        }
        if (block.until !== null && block.until > entry.deadline && this.isHopeless(entry, waiter, now)) {
          this.leave(entry)
          return { waiter, end: "late" }
        }
        if (block.line !== line.id) this.move(node, block)
        else if (block.until !== Number.POSITIVE_INFINITY) {
          if (block.until !== null) this.lookAgain(line, block.until)
          return null
        }
        // What is too far away for this one may be worth waiting for to the next.
        node = after
      }
    }
    return null
  }

  private hadTurn({ lanes }: Line<W>, name: string): void {
    const lane = lanes.get(name)
    if (lane === undefined || lanes.size === 1) return
    lanes.delete(name)
    lanes.set(name, lane)
  }

  private isHopeless(entry: QueueEntry<W>, waiter: W, now: number): boolean {
    return entry.nodes.every(({ choice }) => {
      const block = this.look(waiter, choice, now)
      return block !== null && block.until !== null && block.until > entry.deadline
    })
  }

  /** Into another line, in its lane at the place of its arrival. */
  private move(node: Node<W>, block: Block): void {
    this.unlink(node)
    const line = this.line(block.line)
    node.line = line
    this.link(node)
    if (block.until !== null) this.lookAgain(line, block.until)
  }

  /** The waiter of an entry that leaves; null when it has left already. */
  private take(entry: QueueEntry<W>): W | null {
    const { waiter } = entry
    this.leave(entry)
    return waiter
  }

  private forget(line: Line<W>): void {
    if (line.size === 0 && this.lines.get(line.id) === line) this.lines.delete(line.id)
  }

  private line(id: string): Line<W> {
    const known = this.lines.get(id)
    if (known !== undefined) return known
    const line: Line<W> = { id, lanes: new Map(), size: 0, stirred: false, lookAt: Number.POSITIVE_INFINITY }
    this.lines.set(id, line)
    return line
  }

  private lane({ lanes }: Line<W>, name: string): Lane<W> {
    const known = lanes.get(name)
    if (known !== undefined) return known
    const lane: Lane<W> = { first: null, last: null, size: 0 }
    lanes.set(name, lane)
    return lane
  }

  private link(node: Node<W>): void {
    const { entry, line } = node
    const lane = this.lane(line, entry.lane)
    let before = lane.last
    while (before !== null && before.entry.arrival > entry.arrival) before = before.before
    if (!this.standsTwice(node)) {
      line.size++
      lane.size++
    }
    const after = before === null ? lane.first : before.after
    node.lane = lane
    node.before = before
    node.after = after
    if (before === null) lane.first = node
    else before.after = node
    if (after === null) lane.last = node
    else after.before = node
  }

  private unlink(node: Node<W>): void {
    const { after, before, entry, lane, line } = node
    if (lane === null) return
    if (before === null) lane.first = after
    else before.after = after
    if (after === null) lane.last = before
    else after.before = before
    node.lane = null
    node.before = null
    node.after = null
    if (this.standsTwice(node)) return
    line.size--
    if (--lane.size === 0) line.lanes.delete(entry.lane)
  }

  /** Whether another choice of the same waiter stands in the node's line. */
  private standsTwice(node: Node<W>): boolean {
    return node.entry.nodes.some((other) => other !== node && other.line === node.line && other.lane !== null)
  }

  private stir(line: Line<W>): void {
    if (line.stirred) return
    line.stirred = true
    this.stirred.push(line)
  }

  private lookAgain(line: Line<W>, at: number): void {
    if (at === Number.POSITIVE_INFINITY || at >= line.lookAt) return
    line.lookAt = at
    this.ring({ at, entry: null, line })
  }

  private ring(alarm: Alarm<W>): void {
    const { alarms } = this
    let at = alarms.push(alarm) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if ((alarms[parent] as Alarm<W>).at <= alarm.at) break
      alarms[at] = alarms[parent] as Alarm<W>
      at = parent
    }
    alarms[at] = alarm
  }

  private dropFirst(): void {
    const { alarms } = this
    const moved = alarms.pop()
    if (moved === undefined || alarms.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= alarms.length) break
      if (child + 1 < alarms.length && (alarms[child + 1] as Alarm<W>).at < (alarms[child] as Alarm<W>).at) child++
      if ((alarms[child] as Alarm<W>).at >= moved.at) break
      alarms[at] = alarms[child] as Alarm<W>
      at = child
    }
    alarms[at] = moved
  }
}
