/**
 * One file of a spool: bytes are appended as they come and written block by block; ranges of it are read as often as is wanted. It has no
 * name in the file system, and is gone when nothing holds it.
 */
import * as Crypto from "node:crypto"
import type { Stored } from "#actors/request/ports/Body.ts"
import type { BlockPool } from "#src/platform/structures/BlockPool.ts"
import type { HeldBytes } from "#src/platform/structures/HeldBytes.ts"

/** The part of `node:fs` that a spool needs; an `fd` is of a file without a name. */
export interface Disk {
  /** Makes an empty file that no other process sees. */
  readonly open: (done: (error: NodeJS.ErrnoException | null, fd: number) => void) => void
  readonly writev: (fd: number, bytes: ReadonlyArray<Uint8Array>, at: number, done: (error: NodeJS.ErrnoException | null, written: number) => void) => void
  readonly read: (fd: number, into: Uint8Array, at: number, done: (error: NodeJS.ErrnoException | null, bytes: number) => void) => void
  readonly close: (fd: number) => void
}

/** Why bytes were not kept. `cap`: the spool is full; `memory`: too many bytes wait to be written; `disk-full`, `disk`: the file system said no. */
export interface SpoolFailure {
  readonly reason: "cap" | "memory" | "disk-full" | "disk"
  /** The file system's code, such as EROFS; empty for the others. */
  readonly code: string
}

/** What all files of a spool share. */
export interface SpoolHost {
  readonly disk: Disk
  readonly blocks: BlockPool
  /** Bytes on disk, and their cap. */
  readonly stored: HeldBytes
  /** Bytes in memory. */
  readonly held: HeldBytes
  readonly backlog: Backlog
  readonly onFailure: (failure: SpoolFailure) => void
}

/** What waits to be written over all files, so that many uploads before a slow disk stop together. */
export class Backlog {
  /** Bytes from which on no upload should be read on. */
  readonly most: number
  #bytes = 0
  #stopped: Array<() => void> = []

  constructor(most: number) {
    this.most = most
  }

  get isFull(): boolean {
    return this.#bytes >= this.most
  }

  add(bytes: number): void {
    this.#bytes += bytes
  }

  /** Calls the listener once, when the disk has caught up. */
  onRoom(listener: () => void): void {
    this.#stopped.push(listener)
  }

  remove(bytes: number): void {
    this.#bytes -= bytes
    if (this.#stopped.length > 0 && this.#bytes <= this.most / 2) for (const listener of this.#stopped.splice(0)) listener()
  }
}

/** Blocks of one file that wait to be written, from which on no more should be appended. */
const mostWaiting = 4
/** Blocks of one write. */
const mostWritten = 16

const CLOSED = -2
const OPENING = -1

export class SpoolFile {
  /** Bytes that were appended. */
  length = 0
  readonly #host: SpoolHost
  #fd = OPENING
  /** Full blocks, the first of which may be being written. */
  #waiting: Array<Buffer> = []
  #block: Buffer | null = null
  #used = 0
  /** How many of the waiting blocks were digested. */
  #digested = 0
  /** A write, or what comes before it, is under way. */
  #isWriting = false
  #written = 0
  #failure: SpoolFailure | null = null
  #holds = 1
  #flushed: ((failure: SpoolFailure | null) => void) | null = null
  /** Called when more may be appended after `isBehind`, and when a write failed. */
  onChange: (() => void) | null = null

  /** SHA-256 of each block in its order; null when they are not wanted. */
  readonly #digests: Array<Buffer> | null

  /** `digests`: what is appended is digested, too. */
  constructor(host: SpoolHost, digests: boolean) {
    this.#host = host
    this.#digests = digests ? [] : null
    host.disk.open((error, fd) => this.#opened(error, fd))
  }

  get failure(): SpoolFailure | null {
    return this.#failure
  }

  /** As many bytes wait as should: append again after `onChange`. */
  get isBehind(): boolean {
    return this.#waiting.length >= mostWaiting
  }

  /** Copies borrowed bytes. False when they cannot be kept; `failure` says why. */
  append(bytes: Uint8Array): boolean {
    if (this.#failure !== null) return false
    if (!this.#host.stored.take(bytes.length)) return this.#fail({ reason: "cap", code: "" })
    this.length += bytes.length
    const size = this.#host.blocks.bytes
    for (let at = 0; at < bytes.length;) {
      if (this.#block === null) {
        if (!this.#host.held.take(size)) return this.#fail({ reason: "memory", code: "" })
        this.#host.backlog.add(size)
        this.#block = this.#host.blocks.take()
      }
      const count = Math.min(size - this.#used, bytes.length - at)
      this.#block.set(bytes.subarray(at, at + count), this.#used)
      this.#used += count
      at += count
      if (this.#used === size) this.#fill()
    }
    this.#write()
    return true
  }

  /** Of all that was appended, once it was flushed; the same for the same bytes. Hex; empty when it is not wanted. */
  get digest(): string {
    return this.#digests === null ? "" : Crypto.hash("sha256", Buffer.concat(this.#digests), "hex")
  }

  /** Calls `done` once, later, when all that was appended can be read, or could not be written. */
  flush(done: (failure: SpoolFailure | null) => void): void {
    this.#flushed = done
    this.#fill()
    this.#write()
    if (!this.#isWriting && this.#fd !== OPENING) setImmediate(() => this.#settle())
  }

  /** Keeps the file until the answer is called; null when it is gone. */
  hold(): (() => void) | null {
    if (this.#holds === 0) return null
    this.#holds++
    return this.#releaseOnce()
  }

  /** Gives up the hold that its maker has. */
  readonly release: () => void = this.#releaseOnce()

  range(from: number, length: number): Stored {
    return {
      length,
      hold: () => this.hold(),
      read: (at, into, done) => {
        const count = Math.max(0, Math.min(into.length, length - at))
        this.#host.disk.read(this.#fd, count === into.length ? into : into.subarray(0, count), from + at, done)
      }
    }
  }

  #releaseOnce(): () => void {
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#holds--
      this.#closeIfFree()
    }
  }

  #opened(error: NodeJS.ErrnoException | null, fd: number): void {
    this.#fd = error === null ? fd : CLOSED
    if (error !== null) this.#fail(failureOf(error))
    if (this.#holds === 0) this.#closeIfFree()
    else this.#write()
    if (!this.#isWriting) this.#settle()
  }

  /** The block that is being filled waits to be written. */
  #fill(): void {
    if (this.#block === null) return
    this.#waiting.push(this.#used === this.#block.length ? this.#block : this.#block.subarray(0, this.#used))
    this.#block = null
    this.#used = 0
  }

  #write(): void {
    if (this.#isWriting || this.#fd < 0 || this.#failure !== null || this.#waiting.length === 0) return
    this.#isWriting = true
    const list = this.#waiting.slice(0, mostWritten)
    const fresh = this.#digests === null ? [] : list.slice(this.#digested)
    if (fresh.length === 0) this.#put(list)
    // Only a lack of memory keeps a digest from being made.
    else void this.#digestAll(fresh).then(() => this.#put(list), () => this.#wrong({ reason: "memory", code: "" }))
  }

  /** What was under way has failed. */
  #wrong(failure: SpoolFailure): void {
    this.#isWriting = false
    this.#fail(failure)
    if (this.#holds === 0) this.#closeIfFree()
    this.#settle()
  }

  /** In other threads: a megabyte takes some ms. The bytes are copied before it returns. */
  async #digestAll(blocks: ReadonlyArray<Buffer>): Promise<void> {
    const found = await Promise.all(blocks.map((block) => Crypto.subtle.digest("SHA-256", block)))
    this.#digests?.push(...found.map((digest) => Buffer.from(digest)))
    this.#digested += blocks.length
  }

  #put(list: ReadonlyArray<Buffer>): void {
    this.#host.disk.writev(this.#fd, list, this.#written, (error, written) => {
      this.#isWriting = false
      if (error !== null || written === 0) this.#fail(error === null ? { reason: "disk-full", code: "" } : failureOf(error))
      else this.#wrote(written)
      if (this.#holds === 0) this.#closeIfFree()
      else this.#write()
      if (!this.#isWriting) this.#settle()
      if (!this.isBehind) this.onChange?.()
    })
  }

  #wrote(bytes: number): void {
    this.#written += bytes
    let left = bytes
    while (left > 0) {
      const first = this.#waiting[0] as Buffer
      if (first.length > left) {
        // The disk took a part of it.
        this.#waiting[0] = first.subarray(left)
        return
      }
      left -= first.length
      this.#waiting.shift()
      if (this.#digested > 0) this.#digested--
      this.#giveBlock(first)
    }
  }

  /** A view of a block gives its block back, unless a part of it was written: that one is left to the collector. */
  #giveBlock(view: Buffer): void {
    this.#host.held.give(this.#host.blocks.bytes)
    this.#host.backlog.remove(this.#host.blocks.bytes)
    if (view.byteOffset === 0) this.#host.blocks.give(Buffer.from(view.buffer, 0, this.#host.blocks.bytes))
  }

  #settle(): void {
    const flushed = this.#flushed
    if (flushed === null || (this.#failure === null && (this.#waiting.length > 0 || this.#fd === OPENING))) return
    this.#flushed = null
    flushed(this.#failure)
  }

  #fail(failure: SpoolFailure): false {
    if (this.#failure !== null) return false
    this.#failure = failure
    this.#host.onFailure(failure)
    this.onChange?.()
    return false
  }

  #closeIfFree(): void {
    if (this.#holds > 0 || this.#isWriting || this.#fd === OPENING) return
    this.#fill()
    for (const block of this.#waiting.splice(0)) this.#giveBlock(block)
    this.#host.stored.give(this.length)
    this.length = 0
    this.#flushed = null
    this.onChange = null
    const fd = this.#fd
    this.#fd = CLOSED
    if (fd >= 0) this.#host.disk.close(fd)
  }
}

/** Codes that say there is no room. */
const noRoom: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EFBIG"])

const failureOf = ({ code = "" }: NodeJS.ErrnoException): SpoolFailure => ({ reason: noRoom.has(code) ? "disk-full" : "disk", code })
