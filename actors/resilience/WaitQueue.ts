/**
 * Which request may go next: the queues of requests that wait for a place, first come first served. Bookkeeping only: each method
 * is a command, its answer the reply; time comes in as `now` (ms since the epoch), and whether a place is free is asked of the
 * world.
 *
 * A line belongs to one scarce resource (a connection, a model of a combo). A waiter with several choices waits in all of their
 * lines and leaves them together. There is no overtaking in a line; a line whose first cannot go moves again when a place is
 * freed, or at the time that the world named.
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
  /** ms since the epoch. */
  readonly deadline: number
  readonly arrival: number
  readonly nodes: Array<Node<W>> = []

  constructor(waiter: W, deadline: number, arrival: number) {
    this.waiter = waiter
    this.deadline = deadline
    this.arrival = arrival
  }
}

interface Node<W> {
  readonly entry: QueueEntry<W>
  readonly choice: number
  line: Line<W>
  before: Node<W> | null
  after: Node<W> | null
}

interface Line<W> {
  readonly id: string
  first: Node<W> | null
  last: Node<W> | null
  /** Waiters; one with two choices here counts once. */
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

  /** All waiters, in no order. */
  entries(): ReadonlyArray<QueueEntry<W>> {
    const all = new Set<QueueEntry<W>>()
    for (const line of this.lines.values()) for (let node = line.first; node !== null; node = node.after) all.add(node.entry)
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

  /** Puts a waiter at the end of the line of each of its choices; `blocks` by choice, as the world just answered. */
  join(waiter: W, blocks: ReadonlyArray<Block>, deadline: number): QueueEntry<W> {
    const entry = new QueueEntry(waiter, deadline, ++this.arrivals)
    for (const [choice, { line: id, until }] of blocks.entries()) {
      const line = this.line(id)
      this.append({ entry, choice, line, before: null, after: null })
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
      if (entry !== null ? entry.waiter !== null : line !== null && line.lookAt === alarm.at && line.first !== null) return alarm.at
      this.dropFirst()
    }
    return null
  }

  /** The first waiter of a line that waits for the line's own resource: it goes, or none does. */
  private along(line: Line<W>, now: number): QueueTurn<W> | null {
    for (let node = line.first; node !== null;) {
      const { after, choice, entry } = node
      const waiter = entry.waiter as W
      const block = this.look(waiter, choice, now)
      if (block === null) {
        this.leave(entry)
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
    return null
  }

  private isHopeless(entry: QueueEntry<W>, waiter: W, now: number): boolean {
    return entry.nodes.every(({ choice }) => {
      const block = this.look(waiter, choice, now)
      return block !== null && block.until !== null && block.until > entry.deadline
    })
  }

  /** Into another line, at the place of its arrival. */
  private move(node: Node<W>, block: Block): void {
    const from = node.line
    this.unlink(node)
    const line = this.line(block.line)
    node.line = line
    let before = line.last
    while (before !== null && before.entry.arrival > node.entry.arrival) before = before.before
    this.insert(node, before)
    if (block.until !== null) this.lookAgain(line, block.until)
    if (!from.stirred) this.forget(from)
  }

  /** The waiter of an entry that leaves; null when it has left already. */
  private take(entry: QueueEntry<W>): W | null {
    const { waiter } = entry
    this.leave(entry)
    return waiter
  }

  private forget(line: Line<W>): void {
    if (line.first === null && this.lines.get(line.id) === line) this.lines.delete(line.id)
  }

  private line(id: string): Line<W> {
    const known = this.lines.get(id)
    if (known !== undefined) return known
    const line: Line<W> = { id, first: null, last: null, size: 0, stirred: false, lookAt: Number.POSITIVE_INFINITY }
    this.lines.set(id, line)
    return line
  }

  private append(node: Node<W>): void {
    node.entry.nodes.push(node)
    this.insert(node, node.line.last)
  }

  private insert(node: Node<W>, before: Node<W> | null): void {
    const { line } = node
    if (!this.standsIn(node, line)) line.size++
    const after = before === null ? line.first : before.after
    node.before = before
    node.after = after
    if (before === null) line.first = node
    else before.after = node
    if (after === null) line.last = node
    else after.before = node
  }

  private unlink(node: Node<W>): void {
    const { after, before, line } = node
    if (before === null) line.first = after
    else before.after = after
    if (after === null) line.last = before
    else after.before = before
    node.before = null
    node.after = null
    if (!this.standsIn(node, line)) line.size--
  }

  /** Whether another choice of the same waiter is linked in a line. */
  private standsIn(node: Node<W>, line: Line<W>): boolean {
    for (const other of node.entry.nodes) {
      if (other !== node && other.line === line && (other.before !== null || other.after !== null || line.first === other)) return true
    }
    return false
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
