/**
 * A database on which initdb and the migrations have run, kept in one file: a first start writes some 800 small files instead of
 * running both, which takes four seconds of CPU and 600 MB of memory.
 *
 * The file's name carries the version of PGlite that made it; with another version initdb runs. Migrations that are newer than the file
 * run at the start, as on any database. `npm run fresh-database` makes it anew. Its form: one line of JSON that names folders and
 * files, then the files' bytes.
 */
import type { PGlite } from "@electric-sql/pglite"
import * as fs from "node:fs"
import * as path from "node:path"
import * as zlib from "node:zlib"
import { marker } from "./protocol.ts"

interface Index {
  readonly folders: ReadonlyArray<string>
  /** With their sizes in bytes, in the order of their bytes. */
  readonly files: ReadonlyArray<readonly [name: string, size: number]>
}

/** Segments of 1 MB: a new one is filled with zeros and flushed before it is used, and a statement waits for that. */
export const initDbParams = ["--wal-segsize=1"]

/** What is unpacked comes in one piece: joining the usual ones of 16 kB takes as long as unpacking them. */
const pieceBytes = 16 << 20

const newline = 0x0a
const segment = /^pg_wal.[0-9A-F]{24}$/
/** Of the process and the start that made it. */
const ofTheMaker = new Set(["postmaster.pid", marker])

/** The installed version of PGlite. */
const pgliteVersion = (): string => {
  const manifest: unknown = JSON.parse(fs.readFileSync(new URL("../package.json", import.meta.resolve("@electric-sql/pglite")), "utf8"))
  return typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "unknown"
}

/** The file for the installed version, which may be absent. */
export const file = (): string => path.join(import.meta.dirname, `freshDatabase-${pgliteVersion()}.br`)

const isIndex = (value: unknown): value is Index =>
  typeof value === "object" && value !== null && "folders" in value && Array.isArray(value.folders) && "files" in value && Array.isArray(value.files)

/** Fills an empty directory; answers what is to be flushed, or null when there is no file for the installed version. */
export const unpack = (directory: string): ReadonlyArray<string> | null => {
  const packed = file()
  if (!fs.existsSync(packed)) return null
  const plain = zlib.brotliDecompressSync(fs.readFileSync(packed), { chunkSize: pieceBytes })
  const end = plain.indexOf(newline)
  const index: unknown = JSON.parse(plain.toString("utf8", 0, end))
  if (!isIndex(index)) throw new Error(`${packed} has no index: run \`npm run fresh-database\`.`)
  const folders = index.folders.map((folder) => path.join(directory, folder))
  for (const folder of folders) fs.mkdirSync(folder, { mode: 0o700 })
  let at = end + 1
  const files = index.files.map(([name, size]) => {
    const written = path.join(directory, name)
    fs.writeFileSync(written, plain.subarray(at, at + size), { mode: 0o600 })
    at += size
    return written
  })
  return [directory, ...folders, ...files]
}

/** Removes the template databases: nothing is made of them, they are two thirds of initdb's files, and their transaction ids age unseen. */
export const trim = async (database: PGlite): Promise<void> => {
  for (const name of ["template0", "template1"]) {
    await database.exec(`UPDATE pg_database SET datistemplate = false WHERE datname = '${name}'`)
    await database.exec(`DROP DATABASE IF EXISTS ${name}`)
  }
}

/** Packs a database that was shut down; of its log only the segment that is named, which must hold the last checkpoint. */
export const pack = (directory: string, lastSegment: string): Buffer => {
  const entries = fs.readdirSync(directory, { recursive: true, encoding: "utf8" }).sort()
  const isFolder = (entry: string): boolean => fs.statSync(path.join(directory, entry)).isDirectory()
  const isKept = (entry: string): boolean =>
    !ofTheMaker.has(entry) && (!segment.test(entry) || entry === path.join("pg_wal", lastSegment))
  const contents = entries.filter((entry) => !isFolder(entry) && isKept(entry))
    .map((entry) => [entry, fs.readFileSync(path.join(directory, entry))] as const)
  const index: Index = { folders: entries.filter(isFolder), files: contents.map(([entry, bytes]) => [entry, bytes.length]) }
  const plain = Buffer.concat([Buffer.from(`${JSON.stringify(index)}\n`), ...contents.map(([, bytes]) => bytes)])
  return zlib.brotliCompressSync(plain, {
    params: { [zlib.constants.BROTLI_PARAM_LGWIN]: 24, [zlib.constants.BROTLI_PARAM_SIZE_HINT]: plain.length }
  })
}
