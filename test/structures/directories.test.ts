import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as JournalOwner from "#src/platform/accounting/journal/JournalOwner.ts"
import * as Directories from "#src/platform/structures/directories.ts"

let root: string
beforeAll(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), "directories-"))
})
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

const modeOf = (directory: string): number => fs.statSync(directory).mode & 0o777

describe("directories", () => {
  it("are made with their missing parents, for this user alone; what stands stays as it is", () => {
    const open = path.join(root, "open")
    fs.mkdirSync(open)
    fs.chmodSync(open, 0o755)
    const deep = path.join(open, "a", "b", "c")
    Directories.make(deep)
    Directories.make(deep)
    expect([open, path.join(open, "a"), path.join(open, "a", "b"), deep].map(modeOf)).toEqual([0o755, 0o700, 0o700, 0o700])
  })

  it("end in an error when the file system never takes one", () => {
    expect(() => Directories.make("/proc/nowhere/data")).toThrow(/\/proc\/nowhere/)
    expect(() => JournalOwner.acquireUnsafe("/proc/nowhere/data/journal", "node")).toThrow("GATEWAY_DATA_DIR=/proc/nowhere/data cannot be created")
  })

  it("where a file stands name the variable to change", () => {
    const file = path.join(root, "file")
    fs.writeFileSync(file, "")
    for (const dataDir of [file, path.join(file, "data")]) {
      expect(() => Directories.makeData(dataDir)).toThrow(`GATEWAY_DATA_DIR=${dataDir} cannot be created: a file is in its way`)
      expect(() => JournalOwner.acquireUnsafe(path.join(dataDir, "journal"), "node")).toThrow(Directories.DataDirectoryError)
    }
  })
})
