/**
 * The append-only journal of one process: records queued in one event-loop turn are written with one system call, and
 * their callbacks run behind it. What was written survives kill -9, because it is in the page cache; a power loss costs
 * what the kernel had not flushed (up to about 30 s), or, with `fsyncIntervalMs`, at most that interval.
 *
 * The group commit runs from `setImmediate`: a microtask would run after every single socket callback and group nothing.
 */
import * as nodeFs from "node:fs"
import type { FrameBuffer } from "./JournalBytes.ts"
import * as JournalOwner from "./JournalOwner.ts"
import * as JournalRecord from "./JournalRecord.ts"

/** A segment rotates when it has grown past this, bytes. */
const SEGMENT_BYTES = 8 * 1024 * 1024
/** A longer turn is written in several calls, bytes. */
const MAX_WRITE_BYTES = 1024 * 1024

/** The few file operations of the writer; tests inject full and broken disks here. */
export interface JournalFs {
  readonly open: (path: string) => number
  /** Writes at `position`; answers how many bytes went out, or throws. */
  readonly write: (fd: number, bytes: Uint8Array, offset: number, length: number, position: number) => number
  readonly truncate: (fd: number, length: number) => void
  readonly close: (fd: number) => void
  readonly sync: (fd: number, done: (error: Error | null) => void) => void
}

export const nodeJournalFs: JournalFs = {
  open: (path) => nodeFs.openSync(path, "wx", 0o600),
  write: (fd, bytes, offset, length, position) => nodeFs.writeSync(fd, bytes, offset, length, position),
  truncate: (fd, length) => nodeFs.ftruncateSync(fd, length),
  close: (fd) => nodeFs.closeSync(fd),
  sync: (fd, done) => nodeFs.fdatasync(fd, (error) => done(error ?? null))
}

/** One file. Its holder decides by `liveStarts` and `lastOrdinal` when it may go. */
export interface Segment {
  readonly seq: number
  readonly path: string
  /** Bytes of whole records on disk. */
  size: number
  /** Attempts whose newest start record is here and that are not settled on disk. */
  liveStarts: number
  /** Highest settle that is here, or that belongs to a start that is here. */
  lastOrdinal: number
  /** Its remaining starts were queued again for a newer segment. */
  carried: boolean
}

/** A queued record. Exactly one of `written` and `failed` is called per write attempt; neither may throw. */
export interface PendingWrite {
  /** Writes the record for this segment; false: nothing to write any more. */
  readonly encode: (writer: JournalRecord.RecordWriter, segment: Segment) => boolean
  readonly written: (segment: Segment, offset: number) => void
  /** True keeps the record for the next write. */
  readonly failed: (message: string) => boolean
}

export interface Options {
  readonly directory: string
  readonly nodeId: string
  readonly segmentBytes?: number | undefined
  readonly fs?: JournalFs | undefined
  /** Runs the group commit; default `setImmediate`. */
  readonly schedule?: ((run: () => void) => void) | undefined
  /** Flush a segment to the device before it is closed; default false. */
  readonly syncOnClose?: boolean | undefined
  readonly now: () => number
}

const NOT_WRITTEN = -1
const UNENCODABLE = -2

const messageOf = (error: unknown): string => {
  const code = (error as NodeJS.ErrnoException | null)?.code
  return `The usage journal cannot be written (${code ?? String(error)}): free or repair the data directory (GATEWAY_DATA_DIR).`
}

export class Journal {
  /** Oldest first; the last one is being written. */
  readonly segments: Array<Segment> = []
  /** Why the last write failed; null while the journal works. */
  failure: string | null = null
  owner: JournalOwner.Owner | null = null
  closed = false
  /** Some records of a batch may wait for its next write, while the callbacks of those before run. */
  writing = false
  writes = 0
  records = 0
  bytes = 0

  readonly #directory: string
  readonly #nodeId: string
  readonly #segmentBytes: number
  readonly #fs: JournalFs
  readonly #schedule: (run: () => void) => void
  readonly #syncOnClose: boolean
  readonly #now: () => number
  readonly #writer = new JournalRecord.RecordWriter()
  /** Where the records of the current write begin in the buffer. */
  readonly #offsets: Array<number> = []
  #pending: Array<PendingWrite> = []
  #scheduled = false
  #fd = -1
  #nextSeq = 1
  /** A failed write may have left bytes that could not be cut: the next write goes to a new segment. */
  #damaged = false
  #syncing = false
  #unsynced = false

  constructor(options: Options) {
    this.#directory = options.directory
    this.#nodeId = options.nodeId
    this.#segmentBytes = options.segmentBytes ?? SEGMENT_BYTES
    this.#fs = options.fs ?? nodeJournalFs
    this.#schedule = options.schedule ?? setImmediate
    this.#syncOnClose = options.syncOnClose ?? false
    this.#now = options.now
  }

  get current(): Segment | null {
    return this.segments.at(-1) ?? null
  }

  /** Records that wait for a write. */
  get pending(): number {
    return this.#pending.length
  }

  /** Queues a record for this turn's write. */
  append(record: PendingWrite): void {
    this.#pending.push(record)
    if (this.#scheduled) return
    this.#scheduled = true
    this.#schedule(this.#run)
  }

  readonly #run = (): void => {
    this.#scheduled = false
    this.flush()
  }

  /** Takes the directory's lock; answers false and sets `failure` when the file system refuses. */
  acquire(): boolean {
    if (this.owner !== null) return true
    try {
      this.owner = JournalOwner.acquireUnsafe(this.#directory, this.#nodeId)
      return true
    } catch (error) {
      this.failure = messageOf(error)
      return false
    }
  }

  /** Writes everything that is queued, now. Answers false when the disk refused. */
  flush(): boolean {
    const batch = this.#pending
    if (this.closed) return false
    if (batch.length === 0) return this.failure === null
    this.#pending = []
    const outer = this.writing
    this.writing = true
    try {
      return this.#writeBatch(batch)
    } finally {
      this.writing = outer
    }
  }

  #writeBatch(batch: ReadonlyArray<PendingWrite>): boolean {
    let at = 0
    while (at < batch.length) {
      const next = this.#writeFrom(batch, at)
      if (next === -1) {
        const kept: Array<PendingWrite> = []
        const message = this.failure ?? "The usage journal cannot be written."
        for (let i = at; i < batch.length; i++) {
          if (batch[i]!.failed(message)) kept.push(batch[i]!)
        }
        this.#pending = kept.concat(this.#pending)
        return false
      }
      at = next
    }
    return true
  }

  /** Writes a stretch of `batch` with one call; answers the index behind it, or -1. */
  #writeFrom(batch: ReadonlyArray<PendingWrite>, from: number): number {
    const { buffer } = this.#writer
    const offsets = this.#offsets
    buffer.clear()
    let to = from
    let segment: Segment
    try {
      const fresh = this.#ensureSegment()
      segment = this.current!
      if (fresh) {
        this.#writer.forget()
        this.#writer.header({ version: JournalRecord.FORMAT_VERSION, nodeId: this.#nodeId, seq: segment.seq, createdAt: this.#now() })
      }
      while (to < batch.length && buffer.length < MAX_WRITE_BYTES) {
        offsets[to - from] = this.#encode(batch[to]!, segment)
        to++
      }
      this.#writeAll(segment, buffer)
    } catch (error) {
      this.failure = messageOf(error)
      this.#writer.forget()
      this.#cut()
      return -1
    }
    const start = segment.size
    segment.size += buffer.length
    this.failure = null
    this.#unsynced = true
    this.writes++
    this.records += to - from
    this.bytes += buffer.length
    for (let i = from; i < to; i++) {
      const offset = offsets[i - from]!
      if (offset >= 0) batch[i]!.written(segment, start + offset)
      else if (offset === UNENCODABLE) batch[i]!.failed("The record cannot be encoded.")
    }
    return to
  }

  /** Answers where in the buffer the record begins, or why it does not. */
  #encode(record: PendingWrite, segment: Segment): number {
    const { buffer } = this.#writer
    const offset = buffer.length
    try {
      return record.encode(this.#writer, segment) ? offset : NOT_WRITTEN
    } catch {
      buffer.length = offset
      this.#writer.forget()
      return UNENCODABLE
    }
  }

  #writeAll(segment: Segment, buffer: FrameBuffer): void {
    let done = 0
    while (done < buffer.length) {
      const wrote = this.#fs.write(this.#fd, buffer.bytes, done, buffer.length - done, segment.size + done)
      if (wrote <= 0) throw Object.assign(new Error("nothing written"), { code: "ENOSPC" })
      done += wrote
    }
  }

  /** Opens the next segment when there is none, the last is full, or its end is damaged; true when it is new. */
  #ensureSegment(): boolean {
    const current = this.current
    if (current !== null && this.#fd !== -1 && !this.#damaged && current.size < this.#segmentBytes) return current.size === 0
    this.owner ??= JournalOwner.acquireUnsafe(this.#directory, this.#nodeId)
    const seq = this.#nextSeq
    const path = JournalOwner.segmentPath(this.owner, seq)
    const fd = this.#fs.open(path)
    this.#nextSeq++
    this.#closeFile()
    this.#fd = fd
    this.#damaged = false
    this.segments.push({ seq, path, size: 0, liveStarts: 0, lastOrdinal: 0, carried: false })
    return true
  }

  /** Removes what a failed write may have left, so that a refused start never looks like a crashed attempt. */
  #cut(): void {
    const current = this.current
    if (current === null || this.#fd === -1) return
    try {
      this.#fs.truncate(this.#fd, current.size)
    } catch {
      this.#damaged = true
    }
  }

  /** Flushes the page cache of the segment to the device, off the loop; at most one at a time. */
  sync(done: (error: Error | null) => void): void {
    if (this.#fd === -1 || this.#syncing || !this.#unsynced) return done(null)
    this.#syncing = true
    this.#unsynced = false
    this.#fs.sync(this.#fd, (error) => {
      this.#syncing = false
      if (error !== null) this.#unsynced = true
      done(error)
    })
  }

  #closeFile(): void {
    const fd = this.#fd
    this.#fd = -1
    if (fd === -1) return
    if (this.#syncOnClose && this.#unsynced) this.#fs.sync(fd, () => this.#close(fd))
    else this.#close(fd)
  }

  #close(fd: number): void {
    try {
      this.#fs.close(fd)
    } catch {
      // Closing an append-only file whose writes were all answered loses nothing.
    }
  }

  /** Closes the file and gives the lock back; `rowsLeft` leaves the segments for the next start. */
  close(rowsLeft: boolean): void {
    this.closed = true
    this.#closeFile()
    if (this.owner !== null) JournalOwner.release(this.owner, rowsLeft)
  }
}
