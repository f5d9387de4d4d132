/** A manifest as it is given, and what is kept of it. Pure. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import type { FieldIssue } from "#schemas/api/Refusal.ts"
import { inertIn } from "#src/management/acting/ActingTable.ts"
import { features } from "#schemas/acting/features.ts"
import * as Acting from "./acting.ts"
import * as Config from "./config.ts"
import * as Integrity from "./integrity.ts"
import { type Manifest, ManifestInput, ownHooks, requestHooks } from "./ports/Plugin.ts"

/** ms that a hook of a request may take. */
export const TIMEOUT_MS = 1_000

export interface Read {
  readonly name: string
  readonly version: string
  readonly manifest: Manifest
  /** What the main file's hash must be; null = any. */
  readonly integrity: string | null
}

const decode = Schema.decodeUnknownResult(ManifestInput, { errors: "all", onExcessProperty: "error" })
const format = SchemaIssue.makeFormatterStandardSchemaV1()
const messages: Readonly<Record<string, string>> = { "Expected no excess property": "Unknown field", "Missing key": "Required" }

const issuesOf = ({ issue }: Schema.SchemaError): ReadonlyArray<FieldIssue> => {
  const byField = new Map<string, string>()
  for (const { message, path } of format(issue).issues) {
    const field = ["manifest", ...(path ?? []).map((part) => String(typeof part === "object" ? part.key : part))].join(".")
    if (!byField.has(field)) byField.set(field, messages[message] ?? message)
  }
  return Array.from(byField, ([field, message]) => ({ field, message }))
}

/** What it asks for and the sandbox cannot give. */
export const inert = (manifest: unknown): ReadonlyArray<FieldIssue> => inertIn(Acting.plugin, { manifest }).map(({ field, row }) => ({
  field, message: `Part of: ${features[row.lacks].title}. Only ${JSON.stringify(row.neutral)} is taken`
}))

export const read = (raw: unknown): Result.Result<Read, ReadonlyArray<FieldIssue>> => {
  const decoded = decode(raw)
  if (Result.isFailure(decoded)) return Result.fail(issuesOf(decoded.failure))
  const {
    author = "", configSchema = {}, description = "", enabledByDefault = false, failMode = "open", hooks = {}, hookTimeoutMs = TIMEOUT_MS, integrity = null,
    license = "MIT", main = "index.js", name, source = "local", tags = [], version
  } = decoded.success
  const problems = Config.problemsOf(configSchema)
  if (problems.length > 0) return Result.fail(problems.map(({ field, message }) => ({ field: `manifest.${field}`, message })))
  return Result.succeed({
    name, version, integrity,
    manifest: {
      description, author, license, main, source, tags, configSchema, enabledByDefault, failMode, hookTimeoutMs,
      hooks: [...requestHooks, ...ownHooks].filter((hook) => hooks[hook] === true)
    }
  })
}

/** Why the code is not the one of the manifest; null when it is. */
export const misfitOf = ({ integrity }: Read, code: string): string | null =>
  integrity === null || Integrity.fits(code, integrity) ? null : `The main file has the hash ${Integrity.of(code)}`
