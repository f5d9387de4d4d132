/** Makes directories, and says which variable to change when the data directory cannot be one. */
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as path from "node:path"
import { codeOf, messageOf } from "#actors/thrown.ts"

/** The directory of GATEWAY_DATA_DIR cannot be used; the message says why and what to do. */
export class DataDirectoryError extends Schema.TaggedError<DataDirectoryError>()("DataDirectoryError", { message: Schema.String }) {}

const isDirectory = (target: string): boolean => fs.statSync(target, { throwIfNoEntry: false })?.isDirectory() === true

const makeOne = (directory: string): void => {
  try {
    fs.mkdirSync(directory, { mode: 0o700 })
  } catch (error) {
    if (codeOf(error) !== "EEXIST" || !isDirectory(directory)) throw error
  }
}

/**
 * Makes a directory and its missing parents, for this user alone. Throws what the file system throws. One by one, because node's own
 * recursive mkdirSync never returns where a file system answers ENOENT to every mkdir, as /proc does.
 */
export const make = (directory: string): void => {
  try {
    makeOne(directory)
  } catch (error) {
    const parent = path.dirname(directory)
    if (codeOf(error) !== "ENOENT" || fs.existsSync(parent)) throw error
    make(parent)
    makeOne(directory)
  }
}

/** Makes the data directory. */
export const makeData = (dataDir: string): void => {
  try {
    make(path.resolve(dataDir))
  } catch (error) {
    const why = codeOf(error) === "EEXIST" || codeOf(error) === "ENOTDIR" ? "a file is in its way" : messageOf(error)
    throw new DataDirectoryError({ message: `GATEWAY_DATA_DIR=${dataDir} cannot be created: ${why}. Set GATEWAY_DATA_DIR to a directory that this user may write.` })
  }
}

/** What the file system refused in a directory that is there. */
export const unusable = (directory: string, error: unknown): DataDirectoryError => error instanceof DataDirectoryError ? error : new DataDirectoryError({
  message: `${directory} cannot be used: ${messageOf(error)}. Give it to the gateway's user, free its disk, or set GATEWAY_DATA_DIR.`
})

/** Makes a directory that stands in the data directory, and the data directory before it. */
export const makeInData = (directory: string): void => {
  makeData(path.dirname(directory))
  make(directory)
}
