/** Node, the data directory and the key file: what can be seen without opening anything. */
import * as fs from "node:fs"
import * as path from "node:path"
import { codeOf, messageOf } from "#actors/thrown.ts"
import type { Loaded } from "#src/cli/environment.ts"
import * as MasterKey from "#src/platform/secrets/MasterKey.ts"
import { broken, type Finding, note, ok, warning } from "./Finding.ts"

/** What `package.json` and the front end's binaries allow. */
const node = { major: 22, minor: 19 } as const
/** The embedded database, its log and the usage journal grow here (bytes). */
const space = { broken: 100 * 1024 ** 2, warning: 1024 ** 3 } as const

export const nodeVersion = (version: string = process.versions.node): Finding => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  return major === node.major && minor >= node.minor
    ? ok("node", `${version} (${process.execPath})`)
    : broken("node", `${version} (${process.execPath}); the gateway needs ${node.major}.${node.minor} or later of the ${node.major} line`,
      "Run `npm ci` and start with `npm start` or bin/gateway: they bring the right Node.")
}

const octal = (mode: number): string => `0${(mode & 0o777).toString(8)}`

/** The nearest directory above that exists. */
const standing = (directory: string): string => fs.existsSync(directory) ? directory : standing(path.dirname(directory))

const freeSpace = (directory: string): Finding => {
  const { bavail, bsize } = fs.statfsSync(standing(directory))
  const free = bavail * bsize
  const text = `${(free / 1024 ** 3).toFixed(1)} GiB free for ${directory}`
  const mend = "Free some space, or set GATEWAY_DATA_DIR to a larger volume: without space no usage can be journaled."
  return free < space.broken ? broken("disk space", text, mend) : free < space.warning ? warning("disk space", text, mend) : ok("disk space", text)
}

/** Throws when nothing can be written there. Asked by writing: access rights do not know of read-only mounts, full disks and /proc. */
const probe = (directory: string): void => {
  const file = path.join(directory, `.doctor.${process.pid}`)
  fs.writeFileSync(file, "")
  fs.rmSync(file)
}

const directory = (dataDir: string): Finding => {
  const stat = fs.existsSync(dataDir) ? fs.statSync(dataDir) : undefined
  if (stat === undefined) {
    const parent = standing(dataDir)
    if (!fs.statSync(parent).isDirectory()) return broken("data directory", `${dataDir} cannot be made: ${parent} is a file`, "Set GATEWAY_DATA_DIR to a directory.")
    try {
      probe(parent)
      return note("data directory", `${dataDir} does not exist yet; the first start makes it`)
    } catch {
      return broken("data directory", `${dataDir} cannot be made: ${parent} is not writable`, `Make it writable for this user, or set GATEWAY_DATA_DIR.`)
    }
  }
  if (!stat.isDirectory()) return broken("data directory", `${dataDir} is a file`, "Set GATEWAY_DATA_DIR to a directory.")
  try {
    probe(dataDir)
  } catch (error) {
    return broken("data directory", `${dataDir} cannot be written: ${messageOf(error)}`,
      "Give the gateway's user write access, or set GATEWAY_DATA_DIR.")
  }
  return (stat.mode & 0o077) === 0
    ? ok("data directory", `${dataDir} (mode ${octal(stat.mode)})`)
    : warning("data directory", `${dataDir} is open to other users (mode ${octal(stat.mode)})`, `chmod 700 ${dataDir}`)
}

const secretKey = (settings: Loaded): Finding => {
  const file = MasterKey.fileIn(settings.dataDir)
  const source = settings.secret === null ? file : "GATEWAY_SECRET"
  let stat: fs.Stats | undefined
  try {
    stat = fs.statSync(file, { throwIfNoEntry: false })
  } catch (error) {
    if (codeOf(error) !== "ENOTDIR" && codeOf(error) !== "EACCES") throw error
  }
  if (stat === undefined) {
    if (settings.secret !== null) return ok("master key", "from GATEWAY_SECRET")
    return settings.databaseUrl === null
      ? note("master key", `${file} does not exist yet; the first start makes it`)
      : warning("master key", `GATEWAY_SECRET is not set, so each machine would make its own key file (${file})`,
        "Set GATEWAY_SECRET: nodes that share a database must share the master key.")
  }
  if ((stat.mode & 0o077) !== 0) {
    return broken("master key", `${file} can be read by others (mode ${octal(stat.mode)}); the gateway refuses to start`,
      `chmod 600 ${file}, and rotate the key (\`gateway rekey\`) if another user may have read it.`)
  }
  if (stat.size < MasterKey.minLength) {
    return broken("master key", `${file} is empty or cut`, "Restore it from a backup, or set GATEWAY_SECRET to the secret it held.")
  }
  return ok("master key", `from ${source}${settings.secret === null ? ` (mode ${octal(stat.mode)})` : `; ${file} still opens what it sealed`}`)
}

export const check = (settings: Loaded): ReadonlyArray<Finding> => {
  const dataDir = path.resolve(settings.dataDir)
  return [directory(dataDir), freeSpace(dataDir), secretKey(settings)]
}
