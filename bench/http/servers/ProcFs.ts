/**
 * CPU time and memory of a process tree, from the kernel's own books.
 *
 * `/proc/<pid>/task/<tid>/schedstat` counts nanoseconds; `/proc/<pid>/stat` only ticks of 10 ms. Children are included,
 * so that a target is charged for its workers. A process that ends between two readings takes its count with it.
 */
import { readdirSync, readFileSync } from "node:fs"

const PAGE_KB = 4
const TICK_MS = 10
const MAX_PROCESSES = 256

/** Nanoseconds on a CPU: the first of schedstat's three fields. Throws on anything else. */
export const parseSchedstat = (text: string): number => {
  const match = /^(\d+) \d+ \d+\s*$/.exec(text)
  if (match === null) throw new Error(`schedstat: three numbers expected, got ${JSON.stringify(text.slice(0, 60))}`)
  return Number(match[1])
}

/** Resident kB from statm (second field, pages). */
export const parseStatm = (text: string): number => {
  const match = /^\d+ (\d+) /.exec(text)
  if (match === null) throw new Error(`statm: page counts expected, got ${JSON.stringify(text.slice(0, 60))}`)
  return Number(match[1]) * PAGE_KB
}

/** The limit of open files that Node gives itself, the hard one, in the text of `/proc/<pid>/limits`. Throws on anything else. */
export const parseOpenFiles = (text: string): number => {
  const match = /^Max open files +\d+ +(\d+|unlimited)/m.exec(text)
  if (match === null) throw new Error(`limits: a line 'Max open files' expected, got ${JSON.stringify(text.slice(0, 60))}`)
  return match[1] === "unlimited" ? Infinity : Number(match[1])
}

/** CPU numbers of a kernel list such as `0-3,8`. */
export const parseCpuList = (text: string): ReadonlyArray<number> =>
  text.trim().split(",").filter((part) => part !== "").flatMap((part) => {
    const [first = "", last = first] = part.split("-")
    const from = Number(first)
    const to = Number(last)
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index)
  })

const readOrEmpty = (path: string): string => {
  try {
    return readFileSync(path, "latin1")
  } catch {
    return ""
  }
}

/** Of this process, and so of those that it starts. */
export const openFilesLimit = (): number => parseOpenFiles(readFileSync("/proc/self/limits", "latin1"))

const threads = (pid: number): ReadonlyArray<string> => {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** The process and all its living descendants. */
export const tree = (root: number): ReadonlyArray<number> => {
  const found = [root]
  for (let index = 0; index < found.length && found.length < MAX_PROCESSES; index++) {
    const pid = found[index] ?? 0
    for (const thread of threads(pid)) {
      const children = readOrEmpty(`/proc/${pid}/task/${thread}/children`).trim()
      if (children !== "") found.push(...children.split(" ").map(Number))
    }
  }
  return found
}

/** Nanoseconds of CPU of one process, with its threads. */
export const processNanoseconds = (pid: number): number =>
  threads(pid).reduce((sum, thread) => {
    const text = readOrEmpty(`/proc/${pid}/task/${thread}/schedstat`)
    return text === "" ? sum : sum + parseSchedstat(text)
  }, 0)

/** Nanoseconds of CPU that the tree under `root` has used so far. */
export const cpuNanoseconds = (root: number): number => tree(root).reduce((sum, pid) => sum + processNanoseconds(pid), 0)

/** Nanoseconds of CPU of the main thread alone: what an event loop has left before it is full. */
export const mainThreadNanoseconds = (pid: number): number => {
  const text = readOrEmpty(`/proc/${pid}/task/${pid}/schedstat`)
  return text === "" ? 0 : parseSchedstat(text)
}

/** The most kB that were resident, from `/proc/<pid>/status`; 0 where the line is missing. */
export const parsePeak = (text: string): number => Number(/^VmHWM:\s*(\d+) kB$/m.exec(text)?.[1] ?? 0)

/** The most kB of a process that were resident; 0 when it is gone. */
export const peakResidentKb = (pid: number): number => parsePeak(readOrEmpty(`/proc/${pid}/status`))

/** Resident kB of one process; 0 when it is gone. */
export const residentKb = (pid: number): number => {
  const text = readOrEmpty(`/proc/${pid}/statm`)
  return text === "" ? 0 : parseStatm(text)
}

/** Resident kB of the tree. Pages shared between its processes count once per process. */
export const treeResidentKb = (root: number): number => tree(root).reduce((sum, pid) => sum + residentKb(pid), 0)

/** The CPUs this process may run on; empty where the kernel does not say. */
export const allowedCpus = (): ReadonlyArray<number> => {
  const match = /^Cpus_allowed_list:\s*(\S+)/m.exec(readOrEmpty("/proc/self/status"))
  return match === null ? [] : parseCpuList(match[1] ?? "")
}

/** Milliseconds that all CPUs together have been busy, from the first line of `/proc/stat` (ticks of 10 ms). */
export const parseBusyMs = (text: string): number => {
  const match = /^cpu +(\d+) (\d+) (\d+) \d+ \d+ (\d+) (\d+) (\d+)/.exec(text)
  if (match === null) throw new Error(`/proc/stat: cpu line expected, got ${JSON.stringify(text.slice(0, 60))}`)
  return match.slice(1).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0)
}

export const machineBusyMs = (): number => {
  const text = readOrEmpty("/proc/stat")
  return text === "" ? 0 : parseBusyMs(text)
}
