/** Every sealed column that a change of the master secret renews is known to backups, which must open it for an archive under a passphrase. */
import * as fs from "node:fs"
import * as path from "node:path"
import { expect, it } from "vitest"
import { tables } from "#src/features/backups/tables.ts"

const source = (file: string): string => fs.readFileSync(path.join(import.meta.dirname, "../../../src", file), "utf8")

it("tables with sealed values that a backup has are opened and sealed again by it", () => {
  const sealed = new Set([...source("platform/postgres/Reseal.ts").matchAll(/\bFROM (\w+)/g)].map(([, table = ""]) => table))
  expect(sealed.size).toBeGreaterThan(5)
  const opened = [...source("features/backups/sealed.ts").matchAll(/^ {2}(\w+): \(row\) =>/gm)].map(([, table = ""]) => table)
  expect(opened.toSorted()).toEqual([...sealed].filter((table) => tables[table]?.use !== "left").toSorted())
})
