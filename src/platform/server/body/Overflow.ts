/**
 * What a client sent of a body faster than its consumer took it, in a file without a name. A socket is read until it is empty, paused or
 * not: a client that fills it as fast as it is read brings its whole body in one turn of the loop, in which no consumer runs. The first
 * write to fresh memory is a page fault, many times as slow as the copy on a virtual machine, so that memory would lose even more
 * ground; the page cache takes bytes without one.
 */
import * as fs from "node:fs"
import type { HeldBytes } from "#src/platform/structures/HeldBytes.ts"
import * as NamelessFile from "#src/platform/structures/namelessFile.ts"

/** What all bodies of one server share. */
export interface OverflowHost {
  /** Null: there is none. */
  readonly directory: string | null
  /** Bytes that must be free on its disk where a file begins. */
  readonly reserveBytes: number
  /** Bytes in files. */
  readonly stored: HeldBytes
}

export class Overflow {
  readonly #fd: number
  readonly #stored: HeldBytes
  #written = 0
  #read = 0

  private constructor(fd: number, stored: HeldBytes) {
    this.#fd = fd
    this.#stored = stored
  }

  /** Null where no file can be made, or its disk is nearly full. */
  static open({ directory, reserveBytes, stored }: OverflowHost): Overflow | null {
    if (directory === null) return null
    let fd: number | null = null
    try {
      const { bavail, bsize } = fs.statfsSync(directory)
      if (bavail * bsize < reserveBytes) return null
      const name = NamelessFile.nameIn(directory)
      fd = fs.openSync(name, "wx+", 0o600)
      // Another process may have swept it.
      fs.rmSync(name, { force: true })
      return new Overflow(fd, stored)
    } catch {
      if (fd !== null) fs.closeSync(fd)
      return null
    }
  }

  /** False when they cannot be kept. */
  append(bytes: Uint8Array): boolean {
    if (!this.#stored.take(bytes.byteLength)) return false
    const end = this.#written + bytes.byteLength
    try {
      for (let at = 0; this.#written < end;) {
        const count = fs.writeSync(this.#fd, bytes, at, bytes.byteLength - at, this.#written)
        at += count
        this.#written += count
      }
      return true
    } catch {
      this.#stored.give(end - this.#written)
      return false
    }
  }

  /** The first bytes, at most so many. Throws what the file system says. */
  take(most: number): Uint8Array {
    const bytes = Buffer.allocUnsafeSlow(Math.min(most, this.#written - this.#read))
    for (let at = 0; at < bytes.byteLength;) {
      const count = fs.readSync(this.#fd, bytes, at, bytes.byteLength - at, this.#read + at)
      if (count === 0) throw new Error("The file of a body is shorter than what was written to it")
      at += count
    }
    this.#read += bytes.byteLength
    return bytes
  }

  close(): void {
    this.#stored.give(this.#written)
    fs.closeSync(this.#fd)
  }
}
