import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, governs } from "#schemas/api/Access.ts"
import { Document, listOf, text } from "#schemas/api/fields.ts"
import { AgentProtocol, NewCustomAgent } from "#schemas/agents/CustomAgent.ts"
import { type ToolId as Id, toolIds, toolOf } from "./tools.ts"

const opt = Schema.optionalKey
const ToolId = Schema.Literals(toolIds)

export const ToolStatus = Schema.Struct({
  detection: Schema.Struct({
    /** Its program is in the gateway's PATH. */
    installed: Schema.Boolean,
    /** It told its version within 5 s. */
    runnable: Schema.Boolean,
    version: opt(Schema.String),
    command: Schema.String,
    commandPath: opt(Schema.String),
    /** Why it is not runnable. */
    reason: opt(Schema.String)
  }),
  config: Schema.Struct({
    /** `configured`: it uses this gateway; `other`: something else; `unknown`: its files cannot be read. */
    status: Schema.Literals(["configured", "not_configured", "not_installed", "unknown", "other"]),
    /** Where it sends its requests. */
    endpoint: opt(Schema.String),
    /** ISO 8601. */
    lastConfiguredAt: opt(Schema.String)
  }),
  error: opt(Schema.String)
}).annotate({ identifier: "CliToolStatus" })
export interface ToolStatus extends Schema.Schema.Type<typeof ToolStatus> {}

/** Texts that agents would read as variables, commands or quotes have no place in their files. */
const plain = (pattern: RegExp, message: string, maximum: number) => text(1, maximum).check(Schema.isPattern(pattern, { message }))
const Model = plain(/^[A-Za-z0-9][A-Za-z0-9._:/@+~-]*$/, "Expected a model id of letters, digits and . _ : / @ + ~ -", 300)

const change = {
  /** This gateway as the tool reaches it, such as `http://localhost:20128`; `/v1` at its end is not needed. */
  baseUrl: text(1, 500),
  /** A key of this gateway. Absent: the one that the file holds for this base URL stays. */
  apiKey: opt(plain(/^[A-Za-z0-9._~+/=:@-]+$/, "Expected a key of letters, digits and . _ ~ + / = : @ -", 500)),
  /** What it asks for; or `models`, of which the first is its default. */
  model: opt(Model),
  models: opt(listOf(Model, 100)),
  reasoningEffort: opt(Schema.Literals(["none", "minimal", "low", "medium", "high", "xhigh"])),
  /** Which format it speaks, where a tool has several. */
  wireApi: opt(Schema.Literals(["chat", "responses"])),
  /** Names that the tool asks for and the models behind them; not supported yet. */
  modelMappings: opt(Document),
  /** Shows what would be written, and writes nothing. */
  dryRun: opt(Schema.Boolean)
}
export const Application = Schema.Struct({ tool: ToolId, ...change })
const ToolSettings = Schema.Struct(change).annotate({ identifier: "ToolSettings" })
export interface Application extends Schema.Schema.Type<typeof Application> {}

export const Applied = Schema.Struct({
  success: Schema.Literal(true),
  tool: ToolId,
  dryRun: Schema.Boolean,
  /** The whole texts. Credentials, comments and texts of others read `[redacted]`; null: there is no file. */
  files: Schema.Array(Schema.Struct({ path: Schema.String, before: Schema.NullOr(Schema.String), after: Schema.String })),
  /** What the files were before; null when nothing was written. */
  backupId: Schema.NullOr(Schema.String)
}).annotate({ identifier: "AppliedTool" })
export interface Applied extends Schema.Schema.Type<typeof Applied> {}

const Backup = Schema.Struct({
  id: Schema.String,
  tool: ToolId,
  createdAt: Schema.String,
  /** Its directory on the gateway's machine. */
  file: Schema.String,
  /** Names of the files in it; one that is missing did not exist. */
  files: Schema.Array(Schema.String)
})
const BackupCall = Schema.Struct({
  tool: opt(ToolId),
  /** The same as `tool`. */
  toolId: opt(ToolId),
  /** Restores it; absent: makes one. */
  backupId: opt(text(1, 40))
})
export interface BackupCall extends Schema.Schema.Type<typeof BackupCall> {}

const PickedKey = Schema.Struct({
  id: Schema.String, name: Schema.String,
  /** Its first 8 characters, `****`, and its last 4. */
  key: Schema.String,
  isActive: Schema.Boolean
})

/** The same as `apply`, by the tool's own path. */
const settingsOf = <const Tool extends Id>(id: Tool) =>
  HttpApiEndpoint.post(`${id}Settings` as `${Tool}Settings`, `/api/cli-tools/${id}-settings`, { payload: ToolSettings, success: Applied })
    .annotate(Access, governs).annotate(OpenApi.Summary, `As apply, for ${toolOf(id).name}`)

/** The gateway's configuration of other programs; it runs them for their version, so even reading needs scope admin. */
export const CliToolsGroup = HttpApiGroup.make("cliTools").add(
  HttpApiEndpoint.get("allStatuses", "/api/cli-tools/all-statuses", { success: Schema.Record(Schema.String, ToolStatus) })
    .annotate(Access, governs).annotate(OpenApi.Summary, "Coding agents on this machine, by id"),
  HttpApiEndpoint.get("status", "/api/cli-tools/status", { query: { tool: ToolId }, success: ToolStatus })
    .annotate(Access, governs).annotate(OpenApi.Summary, "One coding agent on this machine"),
  HttpApiEndpoint.post("apply", "/api/cli-tools/apply", { payload: Application, success: Applied })
    .annotate(Access, governs).annotate(OpenApi.Summary, "Point a coding agent at this gateway, or show how"),
  settingsOf("codex"), settingsOf("gemini"), settingsOf("qwen"), settingsOf("pi"),
  HttpApiEndpoint.get("backups", "/api/cli-tools/backups", { query: { tool: opt(ToolId) }, success: Schema.Struct({ backups: Schema.Array(Backup) }) })
    .annotate(Access, governs).annotate(OpenApi.Summary, "Backups of the agents' files, newest first"),
  HttpApiEndpoint.post("backUp", "/api/cli-tools/backups", {
    payload: BackupCall,
    success: Schema.Struct({
      success: Schema.Literal(true), tool: ToolId,
      /** The backup that was made; of a restore, of the files before it. */
      backupId: Schema.String,
      /** Null when none was asked for. */
      restored: Schema.NullOr(Schema.String)
    })
  }).annotate(Access, governs).annotate(OpenApi.Summary, "Back up an agent's files, or restore them from a backup"),
  HttpApiEndpoint.get("keys", "/api/cli-tools/keys", { success: Schema.Struct({ keys: Schema.Array(PickedKey) }) })
    .annotate(Access, governs).annotate(OpenApi.Summary, "Keys to choose from, masked")
).annotateMerge(OpenApi.annotations({ title: "CLI tools", description: "Coding agents on the gateway's machine and their configuration." }))

export const AgentView = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  binary: Schema.String,
  version: Schema.NullOr(Schema.String),
  installed: Schema.Boolean,
  protocol: AgentProtocol,
  providerAlias: Schema.NullOr(Schema.String),
  /** How an editor starts it; the gateway does not. */
  spawnArgs: Schema.Array(Schema.String),
  isCustom: Schema.Boolean
}).annotate({ identifier: "AcpAgent" })
export interface AgentView extends Schema.Schema.Type<typeof AgentView> {}

const AgentList = Schema.Struct({
  agents: Schema.Array(AgentView),
  summary: Schema.Struct({ total: Schema.Int, installed: Schema.Int, notFound: Schema.Int, builtIn: Schema.Int, custom: Schema.Int }).annotate({ identifier: "AcpAgentCounts" }),
  cacheTtlMs: Schema.Int,
  /** Since the agents were looked for, ms. */
  cacheAge: Schema.Int
})

export const NewAgent = Schema.Union([Schema.Struct({ action: Schema.Literal("refresh") }), NewCustomAgent])

/** Agents that editors start over the Agent Client Protocol. */
export const AcpGroup = HttpApiGroup.make("acp").add(
  HttpApiEndpoint.get("list", "/api/acp/agents", { success: AgentList })
    .annotate(Access, governs).annotate(OpenApi.Summary, "Agents on this machine, and those that were added"),
  HttpApiEndpoint.post("add", "/api/acp/agents", {
    payload: NewAgent,
    success: [
      Schema.Struct({ ...AgentList.fields, refreshed: Schema.Literal(true) }),
      Schema.Struct({ agent: AgentView }).pipe(HttpApiSchema.status(201))
    ]
  }).annotate(Access, governs).annotate(OpenApi.Summary, "Add an agent, or look for all agents again"),
  HttpApiEndpoint.delete("remove", "/api/acp/agents", { query: { id: text(1, 64) }, success: Schema.Struct({ success: Schema.Literal(true) }) })
    .annotate(Access, governs).annotate(OpenApi.Summary, "Remove an agent that was added")
).annotateMerge(OpenApi.annotations({ title: "ACP agents", description: "Agents on the gateway's machine that editors start." }))
