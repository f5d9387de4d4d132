/** The machine that the gateway runs on, as far as other programs of its user are concerned. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as Context from "effect/Context"

export interface Machine {
  /** The home of the user that the gateway runs as. */
  readonly home: string
  /** PATH of the gateway. */
  readonly path: string
  /** What `/proc/self/mountinfo` says inside a container; null outside one. */
  readonly mounts: () => string | null
}

/** Files that Docker and Podman put into every container. */
const marks = ["/.dockerenv", "/run/.containerenv"] as const

const isContainer = (): boolean =>
  process.env["KUBERNETES_SERVICE_HOST"] !== undefined || process.env["container"] !== undefined || marks.some((file) => fs.existsSync(file))

const mountInfo = (): string => {
  try {
    return fs.readFileSync("/proc/self/mountinfo", "utf8")
  } catch {
    return ""
  }
}

export const Machine = Context.Reference<Machine>("gateway/cliTools/Machine", {
  defaultValue: () => ({ home: os.homedir(), path: process.env["PATH"] ?? "", mounts: () => isContainer() ? mountInfo() : null })
})
