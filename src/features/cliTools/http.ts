import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Redacted from "effect/Redacted"
import { KeyStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { refuseInert } from "#src/management/acting.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { ManagementOptions } from "#src/management/ManagementOptions.ts"
import * as Surface from "#src/management/Surface.ts"
import * as Acting from "./acting.ts"
import { type Application, type BackupCall, CliToolsGroup } from "./api.ts"
import * as CliTools from "./CliTools.ts"
import { type Target, type Tool, toolOf, tools } from "./tools.ts"

/** Keys of the picker, newest first. */
const KEYS = 500

/** The address of the gateway as tools' files hold it, without `/v1`; or what is wrong with it. */
const baseOf = (text: string, tool: Tool): string | Refusal.FieldIssue => {
  const refused = (message: string) => ({ field: "baseUrl", message })
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return refused("Expected an http or https URL")
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") return refused("Expected a URL without a user, a query and a fragment")
  const base = `${url.origin}${url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "")}`
  // Agents read $ as the beginning of a variable, and shells read quotes.
  if (!/^[A-Za-z0-9.:/_~%[\]-]+$/.test(base)) return refused("Expected a path of letters, digits and . / _ ~ % -")
  if (tool.needsHttps && url.protocol === "http:" && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)) return refused(`${tool.name} calls other machines over https only`)
  return base
}

/** What the tool is to use, or which fields it cannot take. */
const targetOf = (tool: Tool, { apiKey, baseUrl, model, models, reasoningEffort, wireApi }: Application): Target | ReadonlyArray<Refusal.FieldIssue> => {
  const base = baseOf(baseUrl, tool)
  const [first, ...rest] = [...new Set([...model === undefined ? [] : [model], ...models ?? []])]
  const issues: Array<Refusal.FieldIssue> = []
  if (typeof base !== "string") issues.push(base)
  if (first === undefined) issues.push({ field: "model", message: "Expected a model" })
  if (rest.length > 0 && !tool.takesSeveralModels) issues.push({ field: "models", message: `${tool.name} takes one model` })
  if (reasoningEffort !== undefined && !tool.takesReasoningEffort) issues.push({ field: "reasoningEffort", message: `The files of ${tool.name} have no such value` })
  if (wireApi !== undefined && !tool.wireApis.includes(wireApi)) {
    issues.push({ field: "wireApi", message: tool.wireApis.length === 0 ? `${tool.name} speaks a format of its own` : `${tool.name} takes ${tool.wireApis.join(", ")}` })
  }
  return issues.length > 0 || typeof base !== "string" || first === undefined
    ? issues
    : { base, key: apiKey === undefined ? null : Redacted.make(apiKey), models: [first, ...rest], wireApi: wireApi ?? tool.wireApis[0] ?? "chat", reasoningEffort: reasoningEffort ?? null }
}

const refusalOf = (tool: Tool, target: Target | null) => ({ message, reason }: CliTools.CliToolError): Refusal.Refusal => {
  switch (reason) {
    case "key_needed":
      return Refusal.invalidField("apiKey", `${message}: give the key`)
    case "no_backup":
      return Refusal.notFound(message)
    case "ephemeral": {
      const command = target === null ? null : tool.recipe?.(target) ?? null
      return Refusal.unprocessable(`${message}. Mount the host's ~/${tool.directory.join("/")}${command === null ? "" : ", or run hostSetupCommand on the host with the key in place of <key>"}`, {
        code: "container_ephemeral_target", extra: { containerEphemeralTarget: true, ...(command === null ? {} : { hostSetupCommand: command }) }
      })
    }
    case "unreadable":
    case "not_kept":
    case "not_writable":
    case "changed":
      return Refusal.conflict(message, { code: `config_${reason}` })
  }
}

export const layer = HttpApiBuilder.group(Surface.make(CliToolsGroup), "cliTools", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const keys = yield* KeyStore
  const { port } = yield* ManagementOptions
  const service = yield* CliTools.make({ port })

  const apply = Effect.fn("CliTools.apply")(function*(input: Application) {
    yield* refuseInert(Acting.application, input)
    const tool = toolOf(input.tool)
    const target = targetOf(tool, input)
    if (Array.isArray(target)) return yield* Effect.fail(Refusal.invalidFields(target as ReadonlyArray<Refusal.FieldIssue>))
    const wanted = target as Target
    const dryRun = input.dryRun ?? false
    const { backupId, files } = yield* Effect.mapError(service.apply(tool, wanted, dryRun), refusalOf(tool, wanted))
    if (backupId !== null) {
      yield* audit.note({
        action: "cli_tool.applied", target: tool.id, resourceType: "cli-tool",
        details: { baseUrl: wanted.base, models: [...wanted.models], files: files.map(({ path }) => path), backupId, newKey: input.apiKey !== undefined }
      })
    }
    return { success: true as const, tool: tool.id, dryRun, files, backupId }
  })

  const backUp = Effect.fn("CliTools.backUp")(function*(call: BackupCall) {
    const id = call.tool ?? call.toolId
    if (id === undefined || (call.toolId !== undefined && call.toolId !== id)) return yield* Effect.fail(Refusal.invalidField("tool", "Expected the id of one tool"))
    const tool = toolOf(id)
    const restored = call.backupId ?? null
    const backupId = yield* Effect.mapError(restored === null ? service.backUp(tool) : service.restore(tool, restored), refusalOf(tool, null))
    yield* audit.note({ action: restored === null ? "cli_tool.backed_up" : "cli_tool.restored", target: id, resourceType: "cli-tool", details: { backupId, restored } })
    return { success: true as const, tool: id, backupId, restored }
  })

  return handlers.handleAll({
    allStatuses: () => Effect.map(service.statuses, (all) => Object.fromEntries(all)),
    status: ({ query }) => service.status(toolOf(query.tool)),
    apply: ({ payload }) => answer(apply(payload)),
    codexSettings: ({ payload }) => answer(apply({ tool: "codex", ...payload })),
    geminiSettings: ({ payload }) => answer(apply({ tool: "gemini", ...payload })),
    qwenSettings: ({ payload }) => answer(apply({ tool: "qwen", ...payload })),
    piSettings: ({ payload }) => answer(apply({ tool: "pi", ...payload })),
    backups: ({ query }) => Effect.mapBoth(service.backups(query.tool === undefined ? tools : [toolOf(query.tool)]), {
      onFailure: ({ message }) => Refusal.conflict(message, { code: "config_unreadable" }),
      onSuccess: (backups) => ({ backups: backups as ReadonlyArray<typeof backups[number] & { readonly tool: Tool["id"] }> })
    }),
    backUp: ({ payload }) => answer(backUp(payload)),
    keys: () => answer(Effect.map(keys.list(KEYS, 0), ({ keys: all }) => ({
      keys: all.filter(({ revokedAt }) => revokedAt === null).map(({ id, keyPrefix, keySuffix, name, policy }) => ({ id, name, key: `${keyPrefix}****${keySuffix}`, isActive: policy.isActive }))
    })))
  })
}))
