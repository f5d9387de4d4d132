/** Reads V8 CPU profiles and names the functions that used most time themselves. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { root, workDirectory } from "#bench/http/servers/processes.ts"

export const profileDirectory = join(workDirectory, "profiles")
const TOP = 40
const TOP_PARTS = 20

const percent = (share: number): string => `${(share * 100).toFixed(1).padStart(5)} %`

interface CallFrame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
}

export interface CpuProfile {
  readonly nodes: ReadonlyArray<{ readonly id: number; readonly callFrame: CallFrame }>
  readonly samples: ReadonlyArray<number>
  readonly timeDeltas: ReadonlyArray<number>
}

export interface SelfTime {
  readonly name: string
  readonly where: string
  readonly share: number
}

const isProfile = (value: unknown): value is CpuProfile =>
  typeof value === "object" && value !== null && "nodes" in value && "samples" in value && "timeDeltas" in value

/** Self time by function, largest first, as a share of the time that was not idle. */
export const selfTimes = (profile: CpuProfile): ReadonlyArray<SelfTime> => {
  const frames = new Map(profile.nodes.map((node) => [node.id, node.callFrame]))
  const times = new Map<string, { readonly frame: CallFrame; micros: number }>()
  let total = 0
  for (const [index, id] of profile.samples.entries()) {
    const frame = frames.get(id)
    if (frame === undefined || frame.functionName === "(idle)" || frame.functionName === "(root)") continue
    const micros = Math.max(0, profile.timeDeltas[index] ?? 0)
    total += micros
    const key = `${frame.functionName} ${frame.url}:${frame.lineNumber}`
    const known = times.get(key)
    if (known === undefined) times.set(key, { frame, micros })
    else known.micros += micros
  }
  return [...times.values()].sort((a, b) => b.micros - a.micros).map(({ frame, micros }) => ({
    name: frame.functionName === "" ? "(anonymous)" : frame.functionName,
    where: frame.url === "" ? "native" : `${frame.url.replace(`file://${root}/`, "")}:${frame.lineNumber + 1}`,
    share: micros / total
  }))
}

/** Which part of the program a function belongs to: a folder of ours, a package, Node itself, or native code. */
export const partOf = (where: string): string => {
  const packageName = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(where)?.[1]
  if (packageName !== undefined) return packageName
  if (where.startsWith("node:")) return "node"
  return /^(?:src\/(?:platform|features|inference)|src|actors|schemas|bench)(?:\/[^/:]+(?=\/))?/.exec(where)?.[0] ?? where.replace(/:.*$/, "")
}

/** Shares of the parts, largest first. Garbage collection and what V8 cannot name keep their own lines. */
export const parts = (times: ReadonlyArray<SelfTime>): ReadonlyArray<readonly [part: string, share: number]> => {
  const shares = new Map<string, number>()
  for (const { name, where, share } of times) {
    const part = where === "native" ? (name.startsWith("(") ? name : "native") : partOf(where)
    shares.set(part, (shares.get(part) ?? 0) + share)
  }
  return [...shares].sort((a, b) => b[1] - a[1])
}

/** One block of lines for each profile of the run. */
export const hottest = (): ReadonlyArray<string> => {
  if (!existsSync(profileDirectory)) return ["no profile was written"]
  return readdirSync(profileDirectory).filter((file) => file.endsWith(".cpuprofile")).flatMap((file) => {
    const parsed: unknown = JSON.parse(readFileSync(join(profileDirectory, file), "utf8"))
    if (!isProfile(parsed)) return [`${file}: no CPU profile`]
    const times = selfTimes(parsed)
    return [
      "",
      file,
      ...parts(times).slice(0, TOP_PARTS).map(([part, share]) => `  ${percent(share)}  ${part}`),
      "",
      ...times.slice(0, TOP).map(({ name, where, share }) => `  ${percent(share)}  ${name.padEnd(32)} ${where}`)
    ]
  })
}
