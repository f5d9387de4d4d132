/**
 * Files in a directory. A file is written under a temporary name in `incoming`, flushed, renamed, and its directory flushed: what has its
 * final name is whole and outlives a loss of power.
 */
import { createHash } from "node:crypto"
import * as Fs from "node:fs/promises"
import * as Path from "node:path"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { codeOf, messageOf } from "#actors/thrown.ts"
import * as Directories from "#src/platform/structures/directories.ts"
import { FileStore, FileStoreError } from "#src/features/files/ports/FileStore.ts"
import * as FileId from "#src/features/files/ports/fileId.ts"

/** Bytes that are read from a file at once. */
const READ_BYTES = 256 * 1024
/** How often a write looks at the free space, bytes. */
const SPACE_EVERY_BYTES = 32 * 1024 * 1024
/** In the directory; the name of no file. */
const INCOMING = "incoming"

export interface Options {
  readonly directory: string
  /** Bytes of free space that writes leave to the rest of the machine. */
  readonly reserveBytes: number
}

const isAbsent = (error: unknown): boolean => codeOf(error) === "ENOENT"
const noSpace: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EFBIG"])

const failureOf = (operation: string, id: string) => (error: unknown): FileStoreError => {
  if (error instanceof FileStoreError) return error
  const message = messageOf(error)
  const reason = isAbsent(error) ? "missing" : noSpace.has(codeOf(error)) ? "full" : "unavailable"
  return new FileStoreError({ store: "directory", operation, reason, message: `${operation} ${id}: ${message}`, cause: error })
}

const attempt = <A>(operation: string, id: string, run: () => Promise<A>): Effect.Effect<A, FileStoreError> =>
  Effect.tryPromise({ try: run, catch: failureOf(operation, id) })

const flush = async (directory: string): Promise<void> => {
  const handle = await Fs.open(directory, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Null for what has gone meanwhile. */
const orAbsent = async <A>(found: Promise<A>): Promise<A | null> => {
  try {
    return await found
  } catch (error) {
    if (isAbsent(error)) return null
    throw error
  }
}

/** Throws where the directory cannot be made. */
export const make = ({ directory, reserveBytes }: Options): FileStore["Service"] => {
  const incoming = Path.join(directory, INCOMING)
  Directories.make(Path.resolve(incoming))
  const placeOf = (id: string): string => {
    if (!FileId.isFileId(id)) throw new Error(`'${id}' is no id of a file`)
    return Path.join(directory, id)
  }
  let writes = 0

  const spaceLeft = async (id: string): Promise<void> => {
    const { bavail, bsize } = await Fs.statfs(directory)
    if (bavail * bsize >= reserveBytes) return
    throw new FileStoreError({
      store: "directory", operation: "write", reason: "full", message: `write ${id}: less than ${reserveBytes} bytes are free in ${directory} (GATEWAY_FILES_RESERVE_MB)`
    })
  }

  return FileStore.of({
    write: (id, content) => Effect.suspend(() => {
      const place = placeOf(id)
      const temporary = Path.join(incoming, `${id}.${process.pid}.${++writes}`)
      return Effect.acquireUseRelease(
        attempt("write", id, async () => {
          await spaceLeft(id)
          return { handle: await Fs.open(temporary, "wx", 0o600), state: { isInPlace: false } }
        }),
        ({ handle, state }) => Effect.gen(function*() {
          const hash = createHash("sha256")
          let bytes = 0
          let lookAt = SPACE_EVERY_BYTES
          yield* Stream.runForEach(content, (chunk) => attempt("write", id, async () => {
            hash.update(chunk)
            for (let at = 0; at < chunk.byteLength;) at += (await handle.write(chunk, at)).bytesWritten
            bytes += chunk.byteLength
            if (bytes < lookAt) return
            lookAt = bytes + SPACE_EVERY_BYTES
            await spaceLeft(id)
          }))
          yield* Effect.uninterruptible(attempt("write", id, async () => {
            await handle.sync()
            await Fs.rename(temporary, place)
            state.isInPlace = true
            await flush(directory)
          }))
          return { bytes, sha256: hash.digest("hex") }
        }),
        ({ handle, state }, exit) => Effect.promise(async () => {
          await handle.close().catch(() => undefined)
          if (exit._tag === "Success") return
          await Fs.rm(state.isInPlace ? place : temporary, { force: true }).catch(() => undefined)
        })
      )
    }),

    read: (id, range) => Stream.unwrap(Effect.map(
      Effect.acquireRelease(attempt("read", id, () => Fs.open(placeOf(id), "r")), (handle) => Effect.promise(() => handle.close().catch(() => undefined))),
      (handle) => {
        const last = range?.last ?? Infinity
        let at = range?.first ?? 0
        return Stream.fromPull(Effect.succeed(Effect.flatMap(
          attempt("read", id, async () => {
            const size = Math.min(READ_BYTES, last - at + 1)
            if (size <= 0) return null
            const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafeSlow(size), 0, size, at)
            at += bytesRead
            return bytesRead === 0 ? null : buffer.subarray(0, bytesRead)
          }),
          (chunk) => chunk === null ? Cause.done() : Effect.succeed([chunk] as const)
        )))
      }
    )),

    remove: (id) => attempt("remove", id, () => Fs.rm(placeOf(id), { force: true })),

    list: Stream.unwrap(Effect.map(
      // A list that is read to its end has closed it already.
      Effect.acquireRelease(attempt("list", directory, () => Fs.opendir(directory)), (opened) => Effect.promise(() => opened.close().catch(() => undefined))),
      (opened) => Stream.fromAsyncIterable(opened, failureOf("list", directory)).pipe(
        Stream.filter((entry) => entry.isFile() && FileId.isFileId(entry.name)),
        Stream.mapEffect(({ name }) => Effect.map(attempt("list", name, () => orAbsent(Fs.stat(Path.join(directory, name)))), (stat) => ({ id: name, writtenAt: stat?.mtimeMs ?? null }))),
        Stream.filter((entry): entry is { readonly id: string; readonly writtenAt: number } => entry.writtenAt !== null)
      )
    )),

    removeUnfinished: (before) => attempt("removeUnfinished", incoming, async () => {
      let removed = 0
      for (const name of await Fs.readdir(incoming)) {
        const place = Path.join(incoming, name)
        const stat = await orAbsent(Fs.stat(place))
        if (stat === null || stat.mtimeMs >= before) continue
        await Fs.rm(place, { force: true })
        removed++
      }
      return removed
    })
  })
}

export const layer = (options: Options): Layer.Layer<FileStore, FileStoreError> =>
  Layer.effect(FileStore, Effect.try({
    try: () => make(options),
    catch: (cause) => new FileStoreError({
      store: "directory", operation: "open", reason: "unavailable", cause,
      message: `The directory of files ${options.directory} cannot be made: ${messageOf(cause)}. Set GATEWAY_FILES_DIR to one that this user may write.`
    })
  }))
