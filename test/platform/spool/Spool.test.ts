/** Files of the spool: what is read is what was appended, nothing has a name, and nothing stays when nothing holds it. */
import { createHash, randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import type { Stored } from "#actors/request/ports/Body.ts"
import * as Spool from "#src/platform/spool/Spool.ts"
import type { Disk, SpoolFailure, SpoolFile } from "#src/platform/spool/SpoolFile.ts"
import { HeldBytes } from "#src/platform/structures/HeldBytes.ts"
import { eventually } from "#test/support/operator.ts"

const directories: Array<string> = []
afterEach(() => {
  for (const directory of directories.splice(0)) fs.rmSync(directory, { recursive: true, force: true })
})
const directory = (): string => {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), "spool-"))
  directories.push(made)
  return made
}

const held = () => new HeldBytes(100_000_000)
const flushed = (file: SpoolFile) => new Promise<SpoolFailure | null>((resolve) => file.flush(resolve))

/** All bytes of a range, `most` at a time. */
const readAll = async (stored: Stored, most: number): Promise<Buffer> => {
  const release = stored.hold()
  if (release === null) throw new Error("it is gone")
  const chunks: Array<Buffer> = []
  for (let at = 0; ;) {
    const into = Buffer.alloc(most)
    const bytes = await new Promise<number>((resolve, reject) => stored.read(at, into, (failure, count) => failure === null ? resolve(count) : reject(failure)))
    if (bytes === 0) break
    chunks.push(into.subarray(0, bytes))
    at += bytes
  }
  release()
  return Buffer.concat(chunks)
}

/** The disk, which may take less than it is given, or fail. */
const faulty = (below: Spool.CountedDisk, faults: Partial<Pick<Disk, "open" | "writev" | "read">>): Spool.CountedDisk => ({ ...below, ...faults })
const failing = (code: string): NodeJS.ErrnoException => Object.assign(new Error(`${code}: the file system said no`), { code })

describe("a file of the spool", () => {
  it("gives back ranges of what was appended, in whatever pieces, and has no name", async () => {
    const below = directory()
    const spool = Spool.make(Spool.diskIn(below), 100_000_000)
    const memory = held()
    const file = spool.open(memory)
    const bytes = randomBytes(3_000_000)
    for (let at = 0, size = 1; at < bytes.length; at += size, size = size * 3 % 300_007) {
      size = Math.max(1, size)
      const borrowed = Buffer.from(bytes.subarray(at, at + size))
      expect(file.append(borrowed)).toBe(true)
      borrowed.fill(0)
      if (file.isBehind) await new Promise<void>((resolve) => {
        file.onChange = resolve
      })
    }
    expect(await flushed(file)).toBeNull()
    expect([fs.readdirSync(below), spool.files(), spool.stored.bytes, memory.bytes]).toEqual([[], 1, bytes.length, 0])
    for (const [from, length, most] of [[0, bytes.length, 128 * 1024], [1, 999, 7], [2_999_990, 10, 64], [5, 0, 10]] as const) {
      expect((await readAll(file.range(from, length), most)).equals(bytes.subarray(from, from + length))).toBe(true)
    }
    file.release()
    await eventually(() => Promise.resolve(spool.files()), (count) => count === 0, "its end")
    expect([spool.stored.bytes, file.range(0, 10).hold()]).toEqual([0, null])
  })

  it("knows the digest of what was appended, in whatever pieces, and on a disk that takes a little at a time", async () => {
    const bytes = randomBytes(400_001)
    const digestOf = async (content: Buffer, size: number, most: number): Promise<string> => {
      const below = Spool.diskIn(directory())
      const disk = faulty(below, { writev: (fd, [first], at, done) => below.writev(fd, [(first as Uint8Array).subarray(0, most)], at, done) })
      const file = Spool.make(disk, 100_000_000).open(held(), true)
      for (let at = 0; at < content.length; at += size) file.append(content.subarray(at, at + size))
      expect(await flushed(file)).toBeNull()
      const { digest } = file
      file.release()
      return digest
    }
    const expected = await digestOf(bytes, 400_001, 65_536)
    expect(expected).toMatch(/^[0-9a-f]{64}$/)
    for (const [size, most] of [[1_000, 65_536], [65_536, 30_001], [100_003, 7_777]] as const) expect(await digestOf(bytes, size, most)).toBe(expected)
    const other = Buffer.from(bytes)
    other[200_000] = (other[200_000] as number) ^ 1
    expect(await digestOf(other, 1_000, 65_536)).not.toBe(expected)
    expect(await digestOf(bytes.subarray(0, -1), 1_000, 65_536)).not.toBe(expected)
  })

  it("lives as long as any hold, each of which ends once", async () => {
    const spool = Spool.make(Spool.diskIn(directory()), 100_000)
    const file = spool.open(held())
    file.append(Buffer.from("hello"))
    expect(await flushed(file)).toBeNull()
    const stored = file.range(0, 5)
    const releases = [stored.hold(), stored.hold()]
    file.release()
    file.release()
    releases[0]?.()
    releases[0]?.()
    expect([spool.files(), (await readAll(stored, 10)).toString()]).toEqual([1, "hello"])
    releases[1]?.()
    await eventually(() => Promise.resolve(spool.files()), (count) => count === 0, "its end")
  })

  it("that is released while it is made or written closes when the disk has answered", async () => {
    for (const isOpen of [false, true]) {
      const spool = Spool.make(Spool.diskIn(directory()), 100_000_000)
      const memory = held()
      const file = spool.open(memory)
      if (isOpen) await eventually(() => Promise.resolve(spool.files()), (count) => count === 1, "the file")
      file.append(randomBytes(1_000_000))
      file.release()
      await eventually(() => Promise.resolve([spool.files(), spool.stored.bytes, memory.bytes]), (left) => left.every((bytes) => bytes === 0), "its end")
    }
  })

  it("is whole on a disk that takes a little at a time", async () => {
    const below = Spool.diskIn(directory())
    const disk = faulty(below, { writev: (fd, [first], at, done) => below.writev(fd, [(first as Uint8Array).subarray(0, 30_001)], at, done) })
    const file = Spool.make(disk, 100_000_000).open(held())
    const bytes = randomBytes(500_000)
    file.append(bytes)
    expect(await flushed(file)).toBeNull()
    expect(createHash("sha256").update(await readAll(file.range(0, bytes.length), 65_536)).digest("hex")).toBe(createHash("sha256").update(bytes).digest("hex"))
    file.release()
  })

  it.each<readonly [string, Partial<Pick<Disk, "open" | "writev">>, SpoolFailure]>([
    ["is full", { writev: (_fd, _bytes, _at, done) => setImmediate(() => done(failing("ENOSPC"), 0)) }, { reason: "disk-full", code: "ENOSPC" }],
    ["takes nothing", { writev: (_fd, _bytes, _at, done) => setImmediate(() => done(null, 0)) }, { reason: "disk-full", code: "" }],
    ["breaks", { writev: (_fd, _bytes, _at, done) => setImmediate(() => done(failing("EIO"), 0)) }, { reason: "disk", code: "EIO" }],
    ["may not be written", { open: (done) => setImmediate(() => done(failing("EROFS"), -1)) }, { reason: "disk", code: "EROFS" }]
  ])("on a disk that %s says so, takes nothing more and leaves nothing", async (_name, faults, expected) => {
    const spool = Spool.make(faulty(Spool.diskIn(directory()), faults), 100_000_000)
    const memory = held()
    const file = spool.open(memory)
    const told = new Promise<SpoolFailure | null>((resolve) => {
      file.onChange = () => resolve(file.failure)
    })
    file.append(randomBytes(200_000))
    expect([await flushed(file), await told]).toEqual([expected, expected])
    expect([file.append(Buffer.from("more")), spool.failed()]).toEqual([false, 1])
    file.release()
    await eventually(() => Promise.resolve([spool.files(), spool.stored.bytes, memory.bytes]), (left) => left.every((bytes) => bytes === 0), "its end")
  })

  it("leaves room on its disk to the rest of the gateway, and sees when there is more", async () => {
    const MiB = 1024 * 1024
    let free = 256 * MiB + 500_000
    const spool = Spool.make(Spool.diskIn(directory(), (_directory, done) => setImmediate(() => done(null, { bavail: free / 4_096, bsize: 4_096, blocks: 10_000 * MiB }))), 1_000 * MiB)
    const write = async (bytes: number): Promise<string> => {
      const file = spool.open(held())
      const taken = file.append(Buffer.alloc(bytes)) && await flushed(file) === null
      const said = taken ? "kept" : file.failure?.reason ?? ""
      file.release()
      return said
    }
    expect(await write(400_000)).toBe("kept")
    expect(await write(20 * MiB)).toBe("disk-full")
    free = 400 * MiB
    expect(await write(20 * MiB)).toBe("kept")
    // Of a small disk a tenth.
    const small = Spool.make(Spool.diskIn(directory(), (_directory, done) => setImmediate(() => done(null, { bavail: 10_000, bsize: 1_024, blocks: 20_000 }))), 1_000 * MiB)
    const file = small.open(held())
    file.append(Buffer.alloc(5 * MiB))
    expect(await flushed(file)).toBeNull()
    file.release()
  })

  it("tells how much waits before a slow disk over all files, and when it has caught up", async () => {
    const below = Spool.diskIn(directory())
    const waiting: Array<() => void> = []
    let isSlow = true
    const spool = Spool.make(faulty(below, {
      writev: (fd, bytes, at, done) => {
        const write = (): void => below.writev(fd, bytes, at, done)
        if (isSlow) waiting.push(write)
        else write()
      }
    }), 1_000_000_000)
    const memory = held()
    const files = Array.from({ length: 200 }, () => spool.open(memory))
    await eventually(() => Promise.resolve(spool.files()), (count) => count === 200, "the files")
    const block = randomBytes(128 * 1024)
    const full = files.findIndex((file) => file.append(block) && spool.backlog.isFull)
    // Two blocks are little for one file; of many files they are too much.
    expect([full, files[0]?.isBehind]).toEqual([127, false])
    let told = 0
    for (let i = 0; i < 3; i++) spool.backlog.onRoom(() => void told++)
    expect(told).toBe(0)
    isSlow = false
    for (const write of waiting.splice(0)) write()
    await eventually(() => Promise.resolve([told, memory.bytes]), ([count, bytes]) => count === 3 && bytes === 0, "the disk has caught up")
    expect(spool.backlog.isFull).toBe(false)
    for (const file of files) file.release()
    await eventually(() => Promise.resolve(spool.files()), (count) => count === 0, "their end")
  })

  it("is bound by the cap of the spool and by the bytes that may wait in memory", () => {
    const spool = Spool.make(Spool.diskIn(directory()), 1_000_000)
    const [one, two] = [spool.open(held()), spool.open(held())]
    expect([one.append(Buffer.alloc(600_000)), two.append(Buffer.alloc(600_000)), two.failure]).toEqual([true, false, { reason: "cap", code: "" }])
    one.release()
    two.release()
    const narrow = spool.open(new HeldBytes(100_000))
    expect([narrow.append(Buffer.alloc(200_000)), narrow.failure]).toEqual([false, { reason: "memory", code: "" }])
    narrow.release()
  })

  it("is made where its directory was removed meanwhile", async () => {
    const below = directory()
    const spool = Spool.make(Spool.diskIn(path.join(below, "uploads")), 100_000)
    const file = spool.open(held())
    file.append(Buffer.from("hello"))
    expect(await flushed(file)).toBeNull()
    expect((await readAll(file.range(1, 3), 100)).toString()).toBe("ell")
    file.release()
  })
})
