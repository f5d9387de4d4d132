/**
 * Archives as files: the header's line, then lines of JSON, compressed and sealed. They are written and read in pieces: neither ever
 * stands in memory as a whole.
 */
import * as fs from "node:fs"
import { once } from "node:events"
import { PassThrough, Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { createGunzip, createGzip } from "node:zlib"
import * as Effect from "effect/Effect"
import { ArchiveError, broken, ofThrown } from "./ArchiveError.ts"
import * as Frames from "./frames.ts"
import * as Header from "./Header.ts"

/** Characters that one line may have; more is no line that this gateway wrote. */
const LINE_MAX = 256 * 1024 * 1024

export interface Writer {
  /** Whole lines, each with its end. Waits for the disk. */
  readonly write: (lines: string) => Effect.Effect<void, ArchiveError>
  /** The file is whole and on the disk when this ends. */
  readonly end: Effect.Effect<void, ArchiveError>
}

/** Writes a file that nothing else has, for this user alone; the scope's end closes one that was not ended. */
export const create = (path: string, header: Header.Header, key: Buffer) => Effect.gen(function*() {
  const line = Header.lineOf(header)
  const input = new PassThrough({ highWaterMark: 256 * 1024 })
  const done = pipeline(
    input,
    createGzip({ chunkSize: Frames.FRAME_BYTES }),
    async function*(source: AsyncIterable<Uint8Array>) {
      yield line
      yield* Frames.seal(source, key, line)
    },
    fs.createWriteStream(path, { flags: "wx", mode: 0o600, flush: true })
  )
  done.catch(() => undefined)
  yield* Effect.addFinalizer(() => Effect.promise(async () => {
    input.destroy()
    await done.catch(() => undefined)
  }))
  const failed = ofThrown(`The backup ${path} cannot be written`)
  return {
    write: (lines) => Effect.tryPromise({
      try: async () => {
        if (input.destroyed) await done
        if (!input.write(lines)) await Promise.race([once(input, "drain"), done])
      },
      catch: failed
    }),
    end: Effect.tryPromise({
      try: async () => {
        input.end()
        await done
      },
      catch: failed
    })
  } satisfies Writer
})

/** The header of a file, and its line as it stands there. */
export const readHeader = (path: string): Effect.Effect<{ readonly header: Header.Header; readonly line: Buffer }, ArchiveError> => Effect.flatMap(
  Effect.tryPromise({
    try: async () => {
      const handle = await fs.promises.open(path, "r")
      try {
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(Header.HEADER_MAX), 0, Header.HEADER_MAX, 0)
        return Header.parse(buffer.subarray(0, bytesRead))
      } finally {
        await handle.close()
      }
    },
    catch: ofThrown(`The archive ${path} cannot be read`)
  }),
  (parsed) => parsed instanceof ArchiveError ? Effect.fail(parsed) : Effect.succeed(parsed)
)

const isBrokenData = (error: unknown): boolean => error instanceof Error && "code" in error && typeof error.code === "string" && error.code.startsWith("Z_")

/** The lines behind the header, as many at a time as one read brought. */
export async function* lines(path: string, line: Buffer, key: Buffer): AsyncGenerator<ReadonlyArray<string>> {
  const file = fs.createReadStream(path, { start: line.length, highWaterMark: 4 * Frames.FRAME_BYTES })
  const gunzip = createGunzip({ chunkSize: 4 * Frames.FRAME_BYTES })
  const done = pipeline(file, (source: AsyncIterable<Uint8Array>) => Readable.from(Frames.open(source, key, line)), gunzip)
  done.catch(() => undefined)
  let rest = ""
  const decoder = new TextDecoder()
  try {
    for await (const bytes of gunzip) {
      const parts = (rest + decoder.decode(bytes as Buffer, { stream: true })).split("\n")
      rest = parts.pop() ?? ""
      if (rest.length > LINE_MAX) throw broken("a line of it is longer than a line can be")
      if (parts.length > 0) yield parts
    }
    await done
  } catch (error) {
    throw isBrokenData(error) ? broken("its content is not compressed as it should be") : error
  }
  if (rest !== "") throw broken("its last line is cut")
}
