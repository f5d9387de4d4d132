/** The form of archives: whatever is written is read again, however it arrives, and nothing that was altered is. */
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as v8 from "node:v8"
import * as vm from "node:vm"
import * as Effect from "effect/Effect"
import { afterAll, describe, expect, it } from "vitest"
import type { Page } from "#src/features/backups/BackupRecords.ts"
import { ArchiveError } from "#src/features/backups/archive/ArchiveError.ts"
import * as ArchiveFile from "#src/features/backups/archive/ArchiveFile.ts"
import * as Frames from "#src/features/backups/archive/frames.ts"
import type { Header } from "#src/features/backups/archive/Header.ts"
import { PageWriter, pagesOf } from "#src/features/backups/archive/pages.ts"
import { chance } from "#test/support/chance.ts"

const random = chance()
const line = Buffer.from("{\"a\":\"header\"}\n")
const key = randomBytes(Frames.KEY_BYTES)

v8.setFlagsFromString("--expose-gc")
const collect = vm.runInNewContext("gc") as () => void

/** What is in use, and no garbage: other suites run in this process, too. */
const used = (): number => {
  collect()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return arrayBuffers + heapUsed
}

const split = function*<A>(whole: ReadonlyArray<A> | Buffer, most: number): Generator<ReadonlyArray<A> | Buffer> {
  for (let at = 0; at < whole.length;) {
    const length = 1 + random.below(most)
    yield whole instanceof Buffer ? whole.subarray(at, at + length) : whole.slice(at, at + length)
    at += length
  }
}
async function* arriving<A>(pieces: Iterable<A>): AsyncGenerator<A> {
  yield* pieces
}
const all = async <A>(source: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const found = new Array<A>()
  for await (const one of source) found.push(one)
  return found
}
const bytesOf = (whole: Buffer, most = 100_000) => arriving(split(whole, most) as Generator<Buffer>)
const sealed = async (content: Buffer) => Buffer.concat(await all(Frames.seal(bytesOf(content), key, line)))
const opened = async (archive: Buffer, header = line) => Buffer.concat(await all(Frames.open(bytesOf(archive), key, header)))
const refusal = (reading: Promise<unknown>) => reading.then(() => "read", (error: unknown) => error instanceof ArchiveError ? error.reason : error)

describe("sealed frames", () => {
  it("give back every content, in whatever pieces it comes", async () => {
    for (const size of [0, 1, Frames.FRAME_BYTES - 1, Frames.FRAME_BYTES, Frames.FRAME_BYTES + 1, 2 * Frames.FRAME_BYTES, random.below(500_000)]) {
      const content = randomBytes(size)
      expect({ seed: random.seed, size, same: (await opened(await sealed(content))).equals(content) }).toEqual({ seed: random.seed, size, same: true })
    }
  })

  it("that were altered, cut, joined, reordered or put behind another header are refused", async () => {
    const archive = await sealed(randomBytes(3 * Frames.FRAME_BYTES))
    for (let round = 0; round < 60; round++) {
      const copy = Buffer.from(archive)
      const at = random.below(copy.length)
      copy.writeUInt8(copy.readUInt8(at) ^ (1 << random.below(8)), at)
      expect({ seed: random.seed, at, found: await refusal(opened(copy)) }).toEqual({ seed: random.seed, at, found: "broken" })
      const length = random.below(archive.length)
      expect({ seed: random.seed, length, found: await refusal(opened(archive.subarray(0, length))) }).toEqual({ seed: random.seed, length, found: "broken" })
    }
    const frame = Frames.FRAME_BYTES + 20
    const [first, second, rest] = [archive.subarray(0, frame), archive.subarray(frame, 2 * frame), archive.subarray(2 * frame)]
    for (const joined of [[second, first, rest], [first, rest], [first, second, rest, rest], [first, second, rest, Buffer.from([0])]]) {
      expect(await refusal(opened(Buffer.concat(joined)))).toBe("broken")
    }
    expect(await refusal(opened(archive, Buffer.from("{\"another\":\"header\"}\n")))).toBe("broken")
  })
})

const pages: ReadonlyArray<Page> = [
  { table: "empty", columns: ["id"], rows: [] },
  { table: "some", columns: ["id", "value"], rows: Array.from({ length: 1_203 }, (_, index) => [`${index}`, index % 3 === 0 ? null : `"\n\u2028 ${index} ä𝄞`]) },
  { table: "last", columns: ["id"], rows: [["only"]] }
]
const written = (): ReadonlyArray<string> => {
  const writer = new PageWriter()
  return [...pages.map((page) => writer.lines(page)), writer.end()].join("").split("\n").slice(0, -1)
}
const read = async (lines: ReadonlyArray<string>) => {
  const found = new Map<string, { columns: ReadonlyArray<string>; rows: Array<ReadonlyArray<string | null>> }>()
  for (const { columns, rows, table } of await all(pagesOf(arriving(split(lines, 300) as Generator<ReadonlyArray<string>>)))) {
    const known = found.get(table) ?? { columns, rows: [] }
    known.rows.push(...rows)
    found.set(table, known)
  }
  return [...found].map(([table, { columns, rows }]) => ({ table, columns, rows }))
}

describe("lines of an archive", () => {
  it("are the pages that were written, in whatever batches they come", async () => {
    for (let round = 0; round < 20; round++) expect(await read(written())).toEqual(pages)
  })

  it("of another number, order or form than the last line says are refused", async () => {
    const lines = written()
    const wrong = [
      lines.slice(0, -1), lines.filter((_, index) => index !== 5), [...lines, "[\"1\"]"], [lines[2] ?? "", ...lines], [...lines.slice(0, 3), "[\"1\"]", ...lines.slice(3)],
      [...lines.slice(0, 3), "[\"1\", 2]", ...lines.slice(3)], ["{\"table\":\"DROP TABLE\",\"columns\":[]}", ...lines], ["{\"table\":\"t\",\"columns\":[\"a\",\"a\"]}", ...lines],
      ["nothing", ...lines], ["{}", ...lines], ["null", ...lines], [lines[0] ?? "", ...lines], []
    ]
    for (const one of wrong) expect(await refusal(read(one))).toBe("broken")
  })
})

describe("an archive's file", () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-archive-"))
  afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))
  const header: Header = {
    format: "gateway-backup", version: 1, gateway: "0.1.0", createdAt: "2026-01-01T00:00:00.000Z", reason: "manual", contents: "records", migrations: [],
    key: { by: "master-key", id: "k", sealed: "s" }
  }

  it("is written and read in pieces: 64 MB of rows never stand in memory", async () => {
    const file = path.join(directory, "large")
    const text = JSON.stringify(["x".repeat(1_000)])
    const before = used()
    let most = 0
    const look = () => {
      most = Math.max(most, used() - before)
    }
    await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
      const writer = yield* ArchiveFile.create(file, header, key)
      for (let batch = 0; batch < 640; batch++) {
        yield* writer.write(`${text}\n`.repeat(100))
        if (batch % 64 === 63) look()
      }
      yield* writer.end
    })))
    const found = await Effect.runPromise(ArchiveFile.readHeader(file))
    expect(found.header).toEqual(header)
    let count = 0
    for await (const lines of ArchiveFile.lines(file, found.line, key)) {
      for (const one of lines) if (one === text && ++count % 6_400 === 0) look()
    }
    expect(count).toBe(64_000)
    expect(most).toBeLessThan(16 * 1024 * 1024)
  })

  it("is not written over another one, and a failure is told with its name", async () => {
    const file = path.join(directory, "there")
    fs.writeFileSync(file, "kept")
    const failure = await Effect.runPromise(Effect.scoped(Effect.flip(Effect.gen(function*() {
      const writer = yield* ArchiveFile.create(file, header, key)
      yield* writer.write("[]\n")
      yield* writer.end
    }))))
    expect([failure.reason, failure.message.startsWith(`The backup ${file} cannot be written: EEXIST`)]).toEqual(["disk", true])
    expect(fs.readFileSync(file, "utf8")).toBe("kept")
  })
})
