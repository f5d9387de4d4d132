/** Whether processes of this machine live; Linux tells more than others, by /proc. */
import * as fs from "node:fs"

const read = (file: string): string => {
  try {
    return fs.readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

/** The fields of /proc/<pid>/stat from the state on; empty where there is none. */
export const statOf = (pid: number): ReadonlyArray<string> => {
  const stat = read(`/proc/${pid}/stat`)
  // The command name may hold blanks and parentheses: fields are counted behind the last one.
  return stat === "" ? [] : stat.slice(stat.lastIndexOf(")") + 2).split(" ")
}

/** Start time in clock ticks since boot, so that a reused pid is not mistaken; empty when unknown. */
export const startTicks = (pid: number): string => statOf(pid)[19] ?? ""

/** A killed process keeps its pid until its parent asks for its status: it is dead in state Z (zombie) and X. */
const deadStates: ReadonlySet<string> = new Set(["Z", "X", "x"])

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false
  }
  return !deadStates.has(statOf(pid)[0] ?? "")
}
