/** What the gateway knows of the coding agents on its machine, and how it changes their files. */
import * as Cache from "effect/Cache"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import type { Applied, ToolStatus } from "./api.ts"
import { TextFileError } from "#src/platform/files/TextFile.ts"
import * as ConfigFiles from "./ConfigFiles.ts"
import * as Documents from "./documents/documents.ts"
import type { Change } from "./documents/Document.ts"
import { Machine } from "./Machine.ts"
import * as Programs from "./programs.ts"
import { type At, type Target, type Tool, type ToolId, toolOf, tools } from "./tools.ts"

export class CliToolError extends Schema.TaggedError<CliToolError>()("CliToolError", {
  reason: Schema.Literals(["ephemeral", "key_needed", "not_kept", "unreadable", "not_writable", "changed", "no_backup"]),
  message: Schema.String
}) {}

/** Probes of the tools' last states that are kept. */
const PROBES = 16
/** A probe by what it depends on: the program, and the modification times of its configuration. */
type ProbeKey = readonly [id: ToolId, file: string, changedAt: number, stamp: string]

interface Planned {
  readonly file: ConfigFiles.ConfigFile
  readonly after: string
  readonly shown: Applied["files"][number]
}

const ofFile = (error: TextFileError): CliToolError => new CliToolError({ reason: error.reason, message: error.message })
const formatOf = ({ files }: Tool, name: string): Documents.FormatName => files.find((file) => file.name === name)?.format ?? "json"
const isoNow = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())

/** A value of a tool's files; null when it is not there, or the file cannot be read. */
const valueAt = (tool: Tool, files: ReadonlyArray<ConfigFiles.ConfigFile>, { file, path }: At): string | null => {
  const text = files.find(({ name }) => name === file)?.text ?? null
  if (text === null) return null
  const contents = Documents.read(formatOf(tool, file), text)
  return Result.isSuccess(contents) ? Documents.leafAt(contents.success, path)?.value ?? null : null
}

/** The first reason why a file cannot be read as what it should be. */
const problemIn = (tool: Tool, files: ReadonlyArray<ConfigFiles.ConfigFile>): string | null => {
  for (const { name, path, text } of files) {
    const contents = text === null ? null : Documents.read(formatOf(tool, name), text)
    if (contents !== null && Result.isFailure(contents)) return `${path} cannot be read: ${contents.failure}`
  }
  return null
}

/** `port`: of this gateway. */
export const make = Effect.fnUntraced(function*({ port }: { readonly port: number }) {
  const machine = yield* Machine
  // Callers at the same time share one run.
  const probes = yield* Cache.makeWith((key: string) => {
    const [id, file, changedAt] = JSON.parse(key) as ProbeKey
    return Programs.probe(machine, { file, changedAt }, toolOf(id).versionArguments)
  }, {
    capacity: PROBES,
    // A program that did not answer may do so the next time.
    timeToLive: (exit) => exit._tag === "Success" && exit.value.reason === null ? "Infinity" : 0
  })
  // Two calls at once would each write what the other one did not see.
  const { withPermit } = yield* Semaphore.make(1)

  const isOwn = (endpoint: string, applied: ConfigFiles.Applied | null): boolean => {
    if (applied?.endpoint === endpoint) return true
    const url = URL.parse(endpoint)
    return url !== null && Number(url.port) === port && /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
  }

  const configOf = Effect.fnUntraced(function*(tool: Tool, installed: boolean): Effect.fn.Return<Pick<ToolStatus, "config" | "error">> {
    const read = yield* Effect.result(ConfigFiles.read(machine, tool))
    if (Result.isFailure(read)) return { config: { status: "unknown" }, error: read.failure.message }
    const files = read.success
    const problem = problemIn(tool, files)
    if (problem !== null) return { config: { status: "unknown" }, error: problem }
    const chosen = valueAt(tool, files, tool.chosen)
    const written = chosen === tool.chosen.is ? valueAt(tool, files, tool.endpoint) : null
    if (written === null) return { config: { status: chosen !== null ? "other" : installed ? "not_configured" : "not_installed" } }
    const endpoint = Documents.bareUrl(written)
    if (endpoint === null) return { config: { status: "other" } }
    const applied = yield* ConfigFiles.applied(machine, tool)
    if (!isOwn(endpoint, applied)) return { config: { status: "other", endpoint } }
    return { config: { status: "configured", endpoint, ...(applied?.endpoint === endpoint ? { lastConfiguredAt: applied.at } : {}) } }
  })

  /** Programs are run again only when their file or a file of their configuration changed. */
  const status = Effect.fn("CliTools.status")(function*(tool: Tool) {
    const found = yield* Programs.find(machine, tool.command)
    const key = found === null ? null : JSON.stringify([tool.id, found.file, found.changedAt, yield* ConfigFiles.stamp(machine, tool)] satisfies ProbeKey)
    const absent: Programs.Probe = { version: null, reason: `${tool.command} is not in the gateway's PATH` }
    const probe = key === null ? absent : yield* Cache.get(probes, key)
    const config = yield* configOf(tool, found !== null)
    return {
      detection: {
        installed: found !== null, runnable: probe.reason === null, command: tool.command,
        ...(probe.version === null ? {} : { version: probe.version }),
        ...(found === null ? {} : { commandPath: found.file }),
        ...(probe.reason === null ? {} : { reason: probe.reason })
      },
      ...config
    } satisfies ToolStatus
  })

  const plan = (tool: Tool, files: ReadonlyArray<ConfigFiles.ConfigFile>, target: Target): Effect.Effect<ReadonlyArray<Planned>, CliToolError> =>
    Effect.forEach(files, (file) => {
      const format = formatOf(tool, file.name)
      const changes = (tool.changes(target)[file.name] ?? []).filter((change): change is Change => change !== null)
      const own = changes.map(({ path }) => path)
      return Effect.fromResult(Result.gen(function*() {
        const after = yield* Documents.changed(format, file.text ?? "", changes)
        const before = file.text === null ? null : yield* Documents.masked(format, file.text, own)
        return { file, after, shown: { path: file.path, before, after: yield* Documents.masked(format, after, own) } }
      })).pipe(Effect.mapError((why) => new CliToolError({ reason: "not_kept", message: `${file.path} is left as it is, because the rest of it could not be kept: ${why}` })))
    })

  /** Written under one lock: a backup, then all files. Nothing is written while all of them say so already. */
  const writeAll = (tool: Tool, writings: ReadonlyArray<ConfigFiles.Writing>) => Effect.uninterruptible(Effect.gen(function*() {
    if (yield* ConfigFiles.isEphemeral(machine, tool)) {
      return yield* new CliToolError({ reason: "ephemeral", message: `The files of ${tool.name} inside the gateway's container end with it, and no directory of the host is mounted there; nothing was written` })
    }
    const files = writings.map(({ file }) => file)
    const id = yield* ConfigFiles.backUp(machine, tool, files, yield* Clock.currentTimeMillis)
    yield* ConfigFiles.write(machine, tool, writings.filter(({ file, text }) => file.text !== text))
    return id
  }))

  /** A key goes to the address that it was stored for. */
  const keepsKey = (tool: Tool, files: ReadonlyArray<ConfigFiles.ConfigFile>, base: string): boolean =>
    valueAt(tool, files, tool.key) !== null && Documents.bareUrl(valueAt(tool, files, tool.endpoint) ?? "") === `${base}${tool.suffix}`

  const apply = Effect.fn("CliTools.apply")(function*(tool: Tool, target: Target, dryRun: boolean) {
    const files = yield* ConfigFiles.read(machine, tool)
    if (target.key === null && !keepsKey(tool, files, target.base)) {
      return yield* new CliToolError({ reason: "key_needed", message: `The file of ${tool.name} holds no key for ${target.base}` })
    }
    const other = yield* ConfigFiles.hidden(machine, tool, files)
    if (other !== null) return yield* new CliToolError({ reason: "not_kept", message: `${tool.name} reads ${other}, and would not any more: move its lines to ${tool.hides?.file} in ~/${tool.directory.join("/")} first` })
    const planned = yield* plan(tool, files, target)
    const shown = planned.map((one) => one.shown)
    if (dryRun || planned.every(({ after, file }) => after === file.text)) return { files: shown, backupId: null }
    const backupId = yield* writeAll(tool, planned.map(({ after, file }) => ({ file, text: after, mode: file.mode })))
    yield* ConfigFiles.noteApplied(machine, tool, { endpoint: `${target.base}${tool.suffix}`, at: yield* isoNow })
    return { files: shown, backupId }
  })

  const backUp = Effect.fn("CliTools.backUp")(function*(tool: Tool) {
    const files = yield* ConfigFiles.read(machine, tool)
    return yield* writeAll(tool, files.map((file) => ({ file, text: file.text, mode: file.mode })))
  })

  const restore = Effect.fn("CliTools.restore")(function*(tool: Tool, backupId: string) {
    const kept = yield* ConfigFiles.inBackup(machine, tool, backupId)
    const files = yield* ConfigFiles.read(machine, tool)
    return yield* writeAll(tool, files.map((file, i) => ({ file, text: kept[i]?.text ?? null, mode: kept[i]?.mode ?? file.mode })))
  })

  const ours = <A, E extends CliToolError | TextFileError>(effect: Effect.Effect<A, E>): Effect.Effect<A, CliToolError> =>
    Effect.mapError(effect, (error) => error instanceof TextFileError ? ofFile(error) : error as CliToolError)

  return {
    status,
    /** All at once; each is waited for no longer than its probe. */
    statuses: Effect.forEach(tools, (tool) => Effect.map(status(tool), (found) => [tool.id, found] as const), { concurrency: "unbounded" }),
    apply: (tool: Tool, target: Target, dryRun: boolean) => ours(withPermit(apply(tool, target, dryRun))),
    backUp: (tool: Tool) => ours(withPermit(backUp(tool))),
    restore: (tool: Tool, backupId: string) => ours(withPermit(restore(tool, backupId))),
    backups: (of: ReadonlyArray<Tool>) => ours(Effect.map(Effect.forEach(of, (tool) => ConfigFiles.backups(machine, tool)), (all) => all.flat().sort((a, b) => a.id < b.id ? 1 : -1)))
  }
})
