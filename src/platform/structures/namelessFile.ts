/** Files that lose their names as soon as they are made: they are gone when nothing holds them. Only a process that is killed in between leaves one. */
import { randomBytes } from "node:crypto"
import * as path from "node:path"

const prefix = "upload-"
const suffix = ".part"

/** Where they are made. */
export const directoryIn = (dataDir: string): string => path.resolve(dataDir, "uploads")

/** A fresh name in the directory. */
export const nameIn = (directory: string): string => path.join(directory, `${prefix}${process.pid}-${randomBytes(8).toString("hex")}${suffix}`)

/** Whether a process left it. Those of a living process lose their names anyway. */
export const isLeft = (name: string): boolean => name.startsWith(prefix) && name.endsWith(suffix)
