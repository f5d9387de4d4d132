import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SemVer from "effect/SemVer"
import { Document, integer, listOf, text } from "#schemas/api/fields.ts"

/** `installed`: never activated; `error`: its code or its hook failed. */
export const PluginStatus = Schema.Literals(["installed", "active", "inactive", "error"])
export type PluginStatus = typeof PluginStatus.Type

/** What a request becomes when a hook fails or is late: `open`, it goes on without the hook; `closed`, it is refused. */
export const FailMode = Schema.Literals(["open", "closed"])

/** Of requests. */
export const requestHooks = ["onRequest", "onResponse", "onError"] as const
export type RequestHook = typeof requestHooks[number]
/** Of the plugin's own life. */
export const ownHooks = ["onInstall", "onActivate", "onDeactivate", "onUninstall"] as const

const opt = Schema.optionalKey
const hook = opt(Schema.Boolean)

/** Names that paths of the API have. */
const reserved: ReadonlySet<string> = new Set(["marketplace"])

export const name = text(1, 64).check(Schema.isPattern(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/, { message: "Expected a kebab-case name such as my-plugin" }),
  Schema.makeFilter((value: string) => !reserved.has(value), { message: "This name is reserved" }))
const version = text(1, 64).check(Schema.makeFilter((value: string) => Result.isSuccess(SemVer.parse(value)), { message: "Expected a semantic version such as 1.0.0" }))
const main = text(1, 200).check(Schema.makeFilter(
  (value: string) => /^[^\\\p{Cc}]+\.[cm]?js$/u.test(value) && value.split("/").every((part) => part !== "" && part !== "." && part !== ".."),
  { message: "Expected a .js file within the plugin's folder" }
))
const integrity = Schema.String.check(Schema.isPattern(/^(?:sha256-[A-Za-z0-9+/]{43}=|(?:sha256:)?[0-9a-fA-F]{64})$/, { message: "Expected sha256- and base64, or 64 hex digits" }))

/** The file plugin.json of a plugin, or what stands for it in a call. */
export const ManifestInput = Schema.Struct({
  name,
  version,
  description: opt(text(0, 500)),
  author: opt(text(0, 200)),
  license: opt(text(1, 100)),
  main: opt(main),
  source: opt(Schema.Literals(["local", "marketplace"])),
  tags: opt(listOf(text(1, 64), 20)),
  requires: opt(Schema.Struct({ permissions: opt(listOf(Schema.Literals(["network", "file-read", "file-write", "env", "exec"]), 5)) })),
  hooks: opt(Schema.Struct({
    onRequest: hook, onResponse: hook, onError: hook, onInstall: hook, onActivate: hook, onDeactivate: hook, onUninstall: hook
  })),
  skills: opt(listOf(text(1, 200), 20)),
  configSchema: opt(Document),
  integrity: opt(integrity),
  enabledByDefault: opt(Schema.Boolean),
  adminPages: opt(listOf(Schema.Json, 20)),
  dashboardWidgets: opt(listOf(Schema.Json, 20)),
  /** ms that a hook of a request may take, with its wait for its turn. */
  hookTimeoutMs: opt(integer(10, 10_000)),
  failMode: opt(FailMode)
})
export type ManifestInput = typeof ManifestInput.Type

/** What is kept of a manifest: every member that acts, with its default. */
export const Manifest = Schema.Struct({
  description: Schema.String,
  author: Schema.String,
  license: Schema.String,
  main: Schema.String,
  source: Schema.Literals(["local", "marketplace"]),
  tags: Schema.Array(Schema.String),
  hooks: Schema.Array(Schema.Literals([...requestHooks, ...ownHooks])),
  configSchema: Document,
  enabledByDefault: Schema.Boolean,
  hookTimeoutMs: Schema.Int,
  failMode: FailMode
})
export interface Manifest extends Schema.Schema.Type<typeof Manifest> {}

/** Code of an operator that sees requests. Times are ISO 8601. */
export const Plugin = Schema.Struct({
  name: Schema.String,
  version: Schema.String,
  manifest: Manifest,
  /** The main file. */
  code: Schema.String,
  /** SHA-256 of the code when it was installed: `sha256-` and base64. */
  integrity: Schema.String,
  status: PluginStatus,
  /** Valid by `configSchema`, defaults included. */
  config: Document,
  installedAt: Schema.String,
  /** Null unless it is active, or was when it failed. */
  activatedAt: Schema.NullOr(Schema.String),
  errorMessage: Schema.NullOr(Schema.String),
  updatedAt: Schema.String
})
export interface Plugin extends Schema.Schema.Type<typeof Plugin> {}

/** Requests concern it: it is active, or it failed as one that may let nothing pass. */
export const isInForce = ({ activatedAt, manifest, status }: Plugin): boolean =>
  status === "active" || (status === "error" && activatedAt !== null && manifest.failMode === "closed")
