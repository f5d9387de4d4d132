/**
 * Where the master secret comes from: GATEWAY_SECRET, or a 0600 file in the data directory that the first start makes.
 *
 * A file that an earlier start made keeps opening what it sealed after GATEWAY_SECRET was set.
 */
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { codeOf, messageOf } from "#actors/thrown.ts"
import * as Directories from "#src/platform/structures/directories.ts"

/** The master secret cannot be used; the message names the variable or file and what to change, never the secret. */
export class MasterKeyError extends Schema.TaggedError<MasterKeyError>()("MasterKeyError", {
  reason: Schema.Literals(["too-short", "file-mode", "file-broken", "another-secret"]),
  message: Schema.String
}) {}

export interface Options {
  /** GATEWAY_SECRET; at least 16 characters. Absent: the file. */
  readonly secret?: Redacted.Redacted<string> | undefined
  /** GATEWAY_SECRET_PREVIOUS, newest first; they open and never seal. */
  readonly previous?: ReadonlyArray<Redacted.Redacted<string>> | undefined
  readonly dataDir: string
}

export interface MasterKeys {
  readonly current: Redacted.Redacted<string>
  readonly previous: ReadonlyArray<Redacted.Redacted<string>>
  /** The file, when this load made it. */
  readonly madeFile?: string
}

/** Characters below which a secret is refused. */
export const minLength = 16

/** The secret's file inside a data directory. */
export const fileIn = (dataDir: string): string => path.join(dataDir, "secret.key")

const checkLength = (secret: Redacted.Redacted<string>, name: string) =>
  Redacted.value(secret).length >= minLength
    ? Effect.succeed(secret)
    : Effect.fail(
      new MasterKeyError({
        reason: "too-short",
        message: `${name} needs at least ${minLength} characters; \`openssl rand -base64 32\` makes a good one.`
      })
    )

/** Reads the file, or null when there is none. */
const readFile = (file: string) =>
  Effect.try({
    try: (): Redacted.Redacted<string> | null => {
      let handle: number
      try {
        handle = fs.openSync(file, "r")
      } catch (error) {
        // A data directory that is a file is reported by the code that creates it.
        if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return null
        throw error
      }
      try {
        const mode = fs.fstatSync(handle).mode & 0o777
        if ((mode & 0o077) !== 0) {
          throw new MasterKeyError({
            reason: "file-mode",
            message: `${file} can be read by others (mode 0${mode.toString(8)}). Run \`chmod 600 ${file}\`, `
              + "and rotate the secret if another user may have read it."
          })
        }
        const text = fs.readFileSync(handle, "utf8").trim()
        if (text.length < minLength) {
          throw new MasterKeyError({
            reason: "file-broken",
            message: `${file} is empty or cut. Restore it from a backup, or set GATEWAY_SECRET to the secret it held.`
          })
        }
        return Redacted.make(text)
      } finally {
        fs.closeSync(handle)
      }
    },
    catch: (error) =>
      error instanceof MasterKeyError
        ? error
        : new MasterKeyError({ reason: "file-broken", message: `${file} cannot be read: ${messageOf(error)}` })
  })

const syncPath = (target: string): void => {
  const handle = fs.openSync(target, "r")
  try {
    fs.fsyncSync(handle)
  } finally {
    fs.closeSync(handle)
  }
}

/** Writes the whole secret beside the file and links it into place: of two processes that start at once, one wins. False: another one made it. */
const createFile = (file: string) =>
  Effect.try({
    try: (): boolean => {
      Directories.makeData(path.dirname(file))
      const fresh = `${file}.${randomBytes(6).toString("hex")}`
      try {
        fs.writeFileSync(fresh, `${randomBytes(32).toString("base64url")}\n`, { mode: 0o600, flag: "wx", flush: true })
        fs.linkSync(fresh, file)
        syncPath(path.dirname(file))
        return true
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error
        return false
      } finally {
        fs.rmSync(fresh, { force: true })
      }
    },
    catch: (error) =>
      new MasterKeyError({
        reason: "file-broken",
        message: error instanceof Directories.DataDirectoryError
          ? error.message
          : `${file} cannot be made: ${messageOf(error)}. Set GATEWAY_SECRET, make the directory writable, or free its disk.`
      })
  })

/** The current secret and those that may still open older values; null when there is none yet. */
export const find = Effect.fnUntraced(function*(options: Options) {
  const previous = yield* Effect.forEach(options.previous ?? [], (secret) => checkLength(secret, "Each entry of GATEWAY_SECRET_PREVIOUS"))
  const set = options.secret === undefined ? null : yield* checkLength(options.secret, "GATEWAY_SECRET")
  const kept = yield* readFile(fileIn(options.dataDir))
  if (set !== null) return { current: set, previous: kept === null ? previous : [...previous, kept] } satisfies MasterKeys
  return kept === null ? null : { current: kept, previous } satisfies MasterKeys
})

/** Finds the secrets, and makes the file where there are none. */
export const load = Effect.fnUntraced(function*(options: Options) {
  const found = yield* find(options)
  if (found !== null) return found
  const file = fileIn(options.dataDir)
  const isOurs = yield* createFile(file)
  const made = yield* find(options)
  if (made === null) return yield* new MasterKeyError({ reason: "file-broken", message: `${file} vanished while it was made.` })
  return isOurs ? { ...made, madeFile: file } satisfies MasterKeys : made
})
