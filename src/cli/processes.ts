/** Looks at other processes of this machine: their parents, commands and ports. Answers "unknown" where /proc is absent. */
import * as fs from "node:fs"
import { statOf } from "#src/platform/structures/processes.ts"

const read = (file: string): string => {
  try {
    return fs.readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

/** The process that started it; 0 when unknown. */
export const parentOf = (pid: number): number => Number(statOf(pid)[1] ?? 0)

/** The command line, cut to 80 characters; empty when unknown. */
export const commandOf = (pid: number): string => read(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim().slice(0, 80)

const listening = "0A"

/** Socket inodes that listen on a TCP port. */
const inodesOf = (port: number): ReadonlySet<string> => {
  const hex = port.toString(16).toUpperCase().padStart(4, "0")
  const inodes = new Set<string>()
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    for (const line of read(table).split("\n").slice(1)) {
      const fields = line.trim().split(/\s+/)
      if (fields[1]?.endsWith(`:${hex}`) === true && fields[3] === listening) inodes.add(fields[9] ?? "")
    }
  }
  return inodes
}

/** The process that listens on a TCP port, when this user may see it. */
export const listenerOn = (port: number): { readonly pid: number; readonly command: string } | null => {
  const inodes = inodesOf(port)
  if (inodes.size === 0) return null
  for (const name of fs.readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      for (const fd of fs.readdirSync(`/proc/${name}/fd`)) {
        const inode = /^socket:\[(\d+)\]$/.exec(fs.readlinkSync(`/proc/${name}/fd/${fd}`))?.[1]
        if (inode !== undefined && inodes.has(inode)) return { pid: Number(name), command: commandOf(Number(name)) }
      }
    } catch {
      // It has ended in the meantime, or belongs to another user.
    }
  }
  return null
}
