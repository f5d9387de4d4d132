/**
 * Log lines on their way to a file descriptor: collected per turn, written in one go, and never waited for. When the output
 * is blocked (a full pipe, a stopped terminal) lines are kept up to a bound and dropped beyond it, counted. A ledger row is
 * never a log line.
 */
import * as fs from "node:fs"
import { Ring } from "#src/platform/structures/Ring.ts"

/** Bytes that may wait for a blocked output. */
const BUFFER_BYTES = 1024 * 1024
/** Lines that are remembered unless the operator says otherwise. */
export const REMEMBERED = 1_000
/** Characters of a line that are remembered. */
const REMEMBERED_MAX = 4_096
/** Pause before a blocked output is tried again, ms. */
export const RETRY_MS = 50
/** Largest single write, bytes. */
const WRITE_BYTES = 65_536

/** Where bytes go. `done` is called once, at once or later; 0 bytes without an error = blocked. */
export interface Destination {
  readonly write: (bytes: Uint8Array, done: (error: Error | null, written: number) => void) => void
}

/** The descriptor behind a call of the thread pool: for files, which never block for long. */
const pooled = (fd: number): Destination => ({
  write: (bytes, done) => fs.write(fd, bytes, (error, written) => done(error, error === null ? written : 0))
})

/** A second, non-blocking description of a pipe or terminal; other processes that share it stay blocking. */
const nonBlocking = (fd: number): Destination => {
  const own = fs.openSync(`/proc/self/fd/${fd}`, fs.constants.O_WRONLY | fs.constants.O_NONBLOCK | fs.constants.O_NOCTTY)
  return {
    write: (bytes, done) => {
      let written = 0
      try {
        written = fs.writeSync(own, bytes)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return done(error as Error, 0)
      }
      done(null, written)
    }
  }
}

/** Node's own stream of a socket (a service manager's journal): it queues instead of blocking, and owns the descriptor. */
const streamed = (stream: NodeJS.WriteStream): Destination => {
  stream.on("error", () => {})
  return { write: (bytes, done) => void stream.write(bytes, (error) => done(error ?? null, bytes.length)) }
}

/** The best way to write to a descriptor without ever stopping the event loop. */
export const destination = (fd: number): Destination => {
  try {
    const kind = fs.fstatSync(fd)
    if (kind.isSocket() && (fd === 1 || fd === 2)) return streamed(fd === 1 ? process.stdout : process.stderr)
    return kind.isFIFO() || kind.isCharacterDevice() ? nonBlocking(fd) : pooled(fd)
  } catch {
    return pooled(fd)
  }
}

export interface Options {
  readonly destination: Destination
  readonly bufferBytes?: number | undefined
  /** Runs the write of a turn's lines; default `setImmediate`. */
  readonly schedule?: ((run: () => void) => void) | undefined
  /** Runs a retry later; default an unreferenced timer. */
  readonly later?: ((run: () => void, ms: number) => void) | undefined
}

export class LogSink {
  /** Lines lost so far. */
  dropped = 0
  readonly #destination: Destination
  readonly #limit: number
  readonly #schedule: (run: () => void) => void
  readonly #later: (run: () => void, ms: number) => void
  #lines: Array<string> = []
  /** UTF-16 units in `lines`; close enough to bytes for a bound. */
  #waiting = 0
  #chunk: Buffer | null = null
  #scheduled = false
  #writing = false
  #reported = 0
  #broken = false
  #idle: Array<() => void> = []
  #recent: Ring<string> | null = new Ring(REMEMBERED)
  #remembered = REMEMBERED

  constructor(options: Options) {
    this.#destination = options.destination
    this.#limit = options.bufferBytes ?? BUFFER_BYTES
    this.#schedule = options.schedule ?? setImmediate
    this.#later = options.later ?? ((run, ms) => void setTimeout(run, ms).unref())
  }

  get bufferedBytes(): number {
    return this.#waiting + (this.#chunk?.length ?? 0)
  }

  /** Takes one line without its end; never throws, never waits. */
  write(line: string): void {
    // A copy of what is cut: a part would keep the whole line in memory.
    this.#recent?.push(line.length > REMEMBERED_MAX ? Buffer.from(line.slice(0, REMEMBERED_MAX)).toString() : line)
    if (this.#broken || this.bufferedBytes + line.length > this.#limit) {
      this.dropped++
      return
    }
    this.#lines.push(line)
    this.#waiting += line.length + 1
    if (this.#scheduled || this.#writing) return
    this.#scheduled = true
    this.#schedule(this.#run)
  }

  /** How many of the last lines are remembered; those that are stay, as far as there is room. */
  remember(count: number): void {
    if (count === this.#remembered) return
    const lines = this.recent(count).reverse()
    this.#remembered = count
    this.#recent = count === 0 ? null : new Ring(count)
    for (const line of lines) this.#recent?.push(line)
  }

  /** The last lines, newest first, with those that were dropped. */
  recent(count: number): Array<string> {
    return this.#recent?.newest(count) ?? []
  }

  /** Calls back when everything is out, or at once when nothing waits. */
  whenIdle(done: () => void): void {
    if (this.bufferedBytes === 0 && !this.#writing) done()
    else {
      this.#idle.push(done)
      if (!this.#writing) this.#run()
    }
  }

  readonly #run = (): void => {
    this.#scheduled = false
    if (this.#writing) return
    this.#writing = true
    this.#next()
  }

  #next(): void {
    while (true) {
      if (this.#chunk === null) {
        if (this.#lines.length === 0) return this.#rest()
        if (this.dropped > this.#reported) {
          this.#lines.push(JSON.stringify({ level: "warn", message: "log lines were dropped while the output was blocked", dropped: this.dropped - this.#reported }))
          this.#reported = this.dropped
        }
        this.#chunk = Buffer.from(`${this.#lines.join("\n")}\n`, "utf8")
        this.#lines = []
        this.#waiting = 0
      }
      let answered = false
      let again = false
      this.#destination.write(this.#chunk.subarray(0, WRITE_BYTES), (error, written) => {
        const goOn = this.#wrote(error, written)
        if (answered) {
          if (goOn) this.#next()
        } else again = goOn
        answered = true
      })
      if (!answered) {
        answered = true
        return
      }
      if (!again) return
    }
  }

  /** Answers whether the next write may follow at once. */
  #wrote(error: Error | null, written: number): boolean {
    const chunk = this.#chunk
    if (error !== null || chunk === null) {
      // It will never be read (EPIPE, EBADF): drop from here on.
      this.#broken = true
      this.dropped += this.#lines.length + 1
      this.#lines = []
      this.#waiting = 0
      this.#chunk = null
      this.#rest()
      return false
    }
    if (written === 0) {
      this.#later(() => this.#next(), RETRY_MS)
      return false
    }
    this.#chunk = written < chunk.length ? chunk.subarray(written) : null
    return true
  }

  #rest(): void {
    this.#writing = false
    for (const done of this.#idle.splice(0)) done()
  }
}
