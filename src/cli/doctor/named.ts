/** Files and directories that variables name: a start stops without them. */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { messageOf } from "#actors/thrown.ts"
import type { Loaded } from "#src/cli/environment.ts"
import { read } from "#src/features/configFile/read.ts"
import { configFileOf } from "#src/platform/configuration/configFile.ts"
import { checkTls } from "#src/platform/server/Listener.ts"
import { broken, type Finding, ok } from "./Finding.ts"

const certificate = ({ tlsCert, tlsKey, tlsPassphrase }: Loaded): ReadonlyArray<Finding> => {
  if (tlsCert === null || tlsKey === null) return []
  try {
    checkTls({ certFile: tlsCert, keyFile: tlsKey, ...(tlsPassphrase === null ? {} : { passphrase: Redacted.value(tlsPassphrase) }) })
    return [ok("tls", `${tlsCert} and ${tlsKey} belong together`)]
  } catch (error) {
    return [broken("tls", `${messageOf(error)}`, "Check GATEWAY_TLS_CERT, GATEWAY_TLS_KEY and GATEWAY_TLS_PASSPHRASE.")]
  }
}

const configuration = async (settings: Loaded): Promise<ReadonlyArray<Finding>> => {
  const file = configFileOf(settings)
  if (file === null) return []
  let text: string
  try {
    text = fs.readFileSync(file, "utf8")
  } catch (error) {
    return [broken("config file", `${file} cannot be read: ${messageOf(error)}`, "Mend GATEWAY_CONFIG, or let the gateway's user read the file.")]
  }
  const declared = await read(text, settings.environment)
  return Result.isSuccess(declared)
    ? [ok("config file", `${file} declares ${declared.success.length} records`)]
    : declared.failure.map(({ message, path: at }) => broken("config file", `${file}: ${at}: ${message}`, "Mend that place; a start applies nothing of the file before."))
}

/** The start makes a directory that does not exist yet in the one above it. */
const uploads = ({ filesDir }: Loaded): ReadonlyArray<Finding> => {
  if (filesDir === null) return []
  const directory = path.resolve(filesDir)
  try {
    let standing = directory
    while (!fs.existsSync(standing)) standing = path.dirname(standing)
    const probe = fs.mkdtempSync(path.join(standing, ".doctor."))
    fs.rmdirSync(probe)
    return [ok("files", directory)]
  } catch (error) {
    return [broken("files", `${directory} cannot be written: ${messageOf(error)}`, "Set GATEWAY_FILES_DIR to a directory that the gateway's user may write.")]
  }
}

export const check = async (settings: Loaded): Promise<ReadonlyArray<Finding>> =>
  [...certificate(settings), ...await configuration(settings), ...settings.filesS3Bucket === null ? uploads(settings) : []]
