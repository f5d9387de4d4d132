/** How many files below a directory this process holds open, those without names included. */
import * as fs from "node:fs"

export const openFiles = (directory: string): number => fs.readdirSync("/proc/self/fd").filter((fd) => {
  try {
    return fs.readlinkSync(`/proc/self/fd/${fd}`).startsWith(directory)
  } catch {
    return false
  }
}).length
