/** The stores of bytes: a directory, a bucket, and the memory that tests of others use. */
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { afterAll, describe, expect, it } from "vitest"
import { FileStore, FileStoreError } from "#src/features/files/ports/FileStore.ts"
import * as FileId from "#src/features/files/ports/fileId.ts"
import * as LocalFileStore from "#src/features/files/stores/LocalFileStore.ts"
import * as S3FileStore from "#src/features/files/stores/S3FileStore.ts"
import * as FullDisk from "#test/support/fullDisk.ts"
import * as MemoryFiles from "#test/support/memoryFiles.ts"
import { ACCESS_KEY, BUCKET, startS3 } from "#test/support/s3.ts"
import { suite } from "#test/suites/FileStore.suite.ts"

const s3 = await startS3()
const directories: Array<string> = []
const scratch = (): string => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-files-"))
  directories.push(directory)
  return directory
}
afterAll(async () => {
  await s3.close()
  for (const directory of directories) fs.rmSync(directory, { recursive: true, force: true })
})

const bucket = (secret = ACCESS_KEY): S3FileStore.Options => ({
  endpoint: s3.url, region: "us-east-1", bucket: BUCKET, prefix: "gateway/", accessKeyId: Redacted.make(ACCESS_KEY), secretAccessKey: Redacted.make(secret)
})
const own = scratch()

suite("a directory", LocalFileStore.layer({ directory: own, reserveBytes: 0 }).pipe(Layer.orDie), () => fs.readdirSync(path.join(own, "incoming")))
suite("a bucket", S3FileStore.layer(bucket()), s3.open)
suite("memory", Layer.sync(FileStore, MemoryFiles.store), () => [])

const run = Effect.runPromise
const failureOf = (effect: Effect.Effect<unknown, FileStoreError>): Promise<FileStoreError> => run(Effect.flip(effect))
const bytesOf = (size: number): Stream.Stream<Uint8Array> => Stream.rechunk(Stream.fromIterable(Array.from({ length: Math.ceil(size / 1_000_000) }, () => randomBytes(Math.min(size, 1_000_000)))), 1)

describe("a directory of files", () => {
  it("keeps a write until it is old, and removes it then; what is being written has its time renewed", async () => {
    const directory = scratch()
    const store = LocalFileStore.make({ directory, reserveBytes: 0 })
    const dead = path.join(directory, "incoming", `${FileId.make("0123abcd")}.1.1`)
    fs.writeFileSync(dead, "half a file")
    expect(await run(store.removeUnfinished(Date.now() - 60_000))).toBe(0)
    expect(fs.existsSync(dead)).toBe(true)
    expect(await run(store.removeUnfinished(Date.now() + 60_000))).toBe(1)
    expect(fs.existsSync(dead)).toBe(false)
  })

  it("says that the disk is full, and keeps nothing: at once below the reserve, or in the middle", async () => {
    const directory = scratch()
    const reserved = LocalFileStore.make({ directory, reserveBytes: Number.MAX_SAFE_INTEGER })
    expect((await failureOf(reserved.write(FileId.make("0123abcd"), bytesOf(10)))).reason).toBe("full")
    const store = LocalFileStore.make({ directory, reserveBytes: 0 })
    const free = await FullDisk.fill(2_500_000)
    try {
      expect((await failureOf(store.write(FileId.make("0123abcd"), bytesOf(4_000_000)))).reason).toBe("full")
    } finally {
      free()
    }
    expect(fs.readdirSync(directory, { recursive: true })).toEqual(["incoming"])
    expect((await run(store.write(FileId.make("0123abcd"), bytesOf(4_000_000)))).bytes).toBe(4_000_000)
  })

  it("takes no id that is a path", async () => {
    const store = LocalFileStore.make({ directory: scratch(), reserveBytes: 0 })
    for (const id of ["../secret", "incoming", "file-", `file-${"0".repeat(31)}/`]) {
      expect(await run(Effect.exit(Effect.scoped(Stream.runDrain(store.read(id)))))).not.toMatchObject({ _tag: "Success" })
    }
  })

  it("must be one that can be made", async () => {
    const file = path.join(scratch(), "file")
    fs.writeFileSync(file, "")
    expect((await run(Effect.flip(Effect.scoped(Layer.build(LocalFileStore.layer({ directory: file, reserveBytes: 0 })))))).message).toMatch(/cannot be made.*GATEWAY_FILES_DIR/)
  })
})

describe("a bucket of files", () => {
  it("is asked again where it fails in passing, and answers with its own words where it refuses", async () => {
    const store = S3FileStore.make(bucket())
    const id = FileId.make("0123abcd")
    let failures = 2
    s3.refuse = (method) => method === "PUT" && failures-- > 0 ? 503 : null
    expect((await run(store.write(id, bytesOf(10)))).bytes).toBe(10)
    s3.refuse = () => null
    const wrong = S3FileStore.make(bucket("another secret"))
    const refused = await failureOf(wrong.write(FileId.make("0123abcd"), bytesOf(10)))
    expect([refused.reason, refused.message]).toEqual(["unavailable", expect.stringContaining("SignatureDoesNotMatch")])
    expect(refused.message).not.toContain("another secret")
    await run(store.remove(id))
  })

  it("that is full says so, and an upload of parts is aborted", async () => {
    const store = S3FileStore.make(bucket())
    let parts = 0
    s3.refuse = (method, target) => method === "PUT" && target.includes("partNumber") && ++parts > 1 ? 507 : null
    expect((await failureOf(store.write(FileId.make("0123abcd"), bytesOf(12_000_000)))).reason).toBe("full")
    s3.refuse = () => null
    expect([s3.open(), s3.keys()]).toEqual([[], []])
  })

  it("that lost its answer holds no object either", async () => {
    const store = S3FileStore.make(bucket())
    s3.refuse = (method, target) => method === "POST" && target.includes("uploadId") ? 400 : null
    expect((await failureOf(store.write(FileId.make("0123abcd"), bytesOf(6_000_000)))).reason).toBe("unavailable")
    s3.refuse = () => null
    expect([s3.open(), s3.keys()]).toEqual([[], []])
  })

  it("has its old open uploads aborted, and the young ones kept", async () => {
    const store = S3FileStore.make(bucket())
    // A process that dies never aborts its upload.
    s3.refuse = (method, target) => target.includes("uploadId") && method !== "PUT" ? 400 : null
    s3.began = () => new Date(1_000)
    await failureOf(store.write(FileId.make("0123abcd"), bytesOf(6_000_000)))
    s3.began = () => new Date(5_000)
    await failureOf(store.write(FileId.make("0123abcd"), bytesOf(6_000_000)))
    s3.refuse = () => null
    s3.began = () => new Date()
    expect(s3.open().length).toBe(2)
    expect(await run(store.removeUnfinished(5_000))).toBe(1)
    expect(s3.open().length).toBe(1)
    expect(await run(store.removeUnfinished(6_000))).toBe(1)
  })

  it("lists more than one page, and only files of its prefix", async () => {
    const store = S3FileStore.make({ ...bucket(), pageKeys: 3 })
    const other = S3FileStore.make({ ...bucket(), prefix: "other/" })
    await run(other.write(FileId.make("0123abcd"), bytesOf(1)))
    const ids = Array.from({ length: 10 }, () => FileId.make("0123abcd"))
    await run(Effect.forEach(ids, (id) => store.write(id, bytesOf(1)), { concurrency: 16, discard: true }))
    const listed = Array.from(await run(Stream.runCollect(store.list)), ({ id }) => id)
    expect(listed.toSorted()).toEqual(ids.toSorted())
  })

  it("that cannot be reached is unavailable", async () => {
    const store = S3FileStore.make({ ...bucket(), endpoint: "http://127.0.0.1:9" })
    expect((await failureOf(Stream.runDrain(store.read(FileId.make("0123abcd"))))).reason).toBe("unavailable")
  })
})
