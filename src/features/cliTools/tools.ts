/**
 * The coding agents whose configuration this gateway knows how to change, as data. `test/clients/applied` proves each row with the
 * vendor's own program; a tool that it does not run is not listed.
 */
import * as Redacted from "effect/Redacted"
import type { Change, Path } from "./documents/Document.ts"
import type { FormatName } from "./documents/documents.ts"

/** What a tool is to use. */
export interface Target {
  /** The gateway, without `/v1`. */
  readonly base: string
  /** Null: the key that its file holds already stays. */
  readonly key: Redacted.Redacted<string> | null
  readonly models: readonly [string, ...ReadonlyArray<string>]
  readonly wireApi: WireApi
  readonly reasoningEffort: string | null
}

export type WireApi = "chat" | "responses"
export type ToolId = "codex" | "gemini" | "qwen" | "pi"

/** A value in one of a tool's files. */
export interface At {
  readonly file: string
  readonly path: Path
}

export interface Tool {
  readonly id: ToolId
  readonly name: string
  /** The program, looked up in PATH. */
  readonly command: string
  readonly versionArguments: ReadonlyArray<string>
  /** Its directory below the user's home, on Linux and macOS alike. */
  readonly directory: ReadonlyArray<string>
  /** Its files in that directory. */
  readonly files: ReadonlyArray<{ readonly name: string; readonly format: FormatName }>
  /** A file in the home that it stops reading once `file` exists. */
  readonly hides?: { readonly file: string; readonly other: string }
  readonly endpoint: At
  /** What it appends to the gateway's address. */
  readonly suffix: "" | "/v1"
  readonly key: At
  /** What makes it use the endpoint. */
  readonly chosen: At & { readonly is: string }
  /** The values that point it at a gateway, by file; null leaves a value as it is. */
  readonly changes: (target: Target) => Readonly<Record<string, ReadonlyArray<Change | null>>>
  /** What it speaks to a gateway, its default first; empty when it cannot be told. */
  readonly wireApis: ReadonlyArray<WireApi>
  readonly takesReasoningEffort: boolean
  readonly takesSeveralModels: boolean
  /** It calls http addresses of this machine only. */
  readonly needsHttps: boolean
  /** One command for a shell that starts it against the gateway without any file; `<key>` stands for the key. */
  readonly recipe: ((target: Target) => string) | null
  /** How an editor starts it as an agent over the Agent Client Protocol; null when it does not speak it. */
  readonly agentArguments: ReadonlyArray<string> | null
  /** The provider whose models it was made for. */
  readonly providerAlias: string
}

/** What the gateway is called in the tools' own files. */
const OWN = "gateway"

const at = (file: string, ...path: Path): At => ({ file, path })
const put = (value: string | boolean | null, ...path: Path): Change | null => value === null ? null : { path, value }
const putKey = (key: Target["key"], ...path: Path): Change | null => put(key === null ? null : Redacted.value(key), ...path)

const codex: Tool = {
  id: "codex",
  name: "Codex CLI",
  command: "codex",
  versionArguments: ["--version"],
  directory: [".codex"],
  files: [{ name: "config.toml", format: "toml" }],
  endpoint: at("config.toml", "model_providers", OWN, "base_url"),
  suffix: "/v1",
  key: at("config.toml", "model_providers", OWN, "experimental_bearer_token"),
  chosen: { ...at("config.toml", "model_provider"), is: OWN },
  changes: ({ base, key, models, reasoningEffort }) => ({
    "config.toml": [
      put(models[0], "model"), put(OWN, "model_provider"), put(reasoningEffort, "model_reasoning_effort"),
      put(OWN, "model_providers", OWN, "name"), put(`${base}/v1`, "model_providers", OWN, "base_url"),
      putKey(key, "model_providers", OWN, "experimental_bearer_token"), put("responses", "model_providers", OWN, "wire_api"),
      put(true, "model_providers", OWN, "supports_websockets")
    ]
  }),
  wireApis: ["responses"],
  takesReasoningEffort: true,
  takesSeveralModels: false,
  needsHttps: false,
  recipe: ({ base, models }) => `GATEWAY_KEY='<key>' codex -c model='"${models[0]}"' -c model_provider='"${OWN}"' -c 'model_providers.${OWN}={name="${OWN}", base_url="${base}/v1", env_key="GATEWAY_KEY", wire_api="responses", supports_websockets=true}'`,
  agentArguments: null,
  providerAlias: "openai"
}

const gemini: Tool = {
  id: "gemini",
  name: "Gemini CLI",
  command: "gemini",
  versionArguments: ["--version"],
  directory: [".gemini"],
  files: [{ name: "settings.json", format: "json" }, { name: ".env", format: "env" }],
  hides: { file: ".env", other: ".env" },
  endpoint: at(".env", "GOOGLE_GEMINI_BASE_URL"),
  suffix: "",
  key: at(".env", "GEMINI_API_KEY"),
  chosen: { ...at("settings.json", "security", "auth", "selectedType"), is: "gemini-api-key" },
  changes: ({ base, key, models }) => ({
    "settings.json": [put("gemini-api-key", "security", "auth", "selectedType"), put(models[0], "model", "name")],
    // The variable stands above the setting, where there is one.
    ".env": [put(base, "GOOGLE_GEMINI_BASE_URL"), putKey(key, "GEMINI_API_KEY"), { path: ["GEMINI_MODEL"], value: models[0], onlyIfPresent: true }]
  }),
  wireApis: [],
  takesReasoningEffort: false,
  takesSeveralModels: false,
  needsHttps: true,
  // Without its file it asks another kind of gateway than this one.
  recipe: null,
  agentArguments: ["--acp"],
  providerAlias: "gemini"
}

const qwen: Tool = {
  id: "qwen",
  name: "Qwen Code",
  command: "qwen",
  versionArguments: ["--version"],
  directory: [".qwen"],
  files: [{ name: "settings.json", format: "json" }],
  endpoint: at("settings.json", "security", "auth", "baseUrl"),
  suffix: "/v1",
  key: at("settings.json", "security", "auth", "apiKey"),
  chosen: { ...at("settings.json", "security", "auth", "selectedType"), is: "openai" },
  changes: ({ base, key, models }) => ({
    "settings.json": [
      put("openai", "security", "auth", "selectedType"), put(`${base}/v1`, "security", "auth", "baseUrl"), putKey(key, "security", "auth", "apiKey"),
      put(models[0], "model", "name")
    ]
  }),
  wireApis: ["chat"],
  takesReasoningEffort: false,
  takesSeveralModels: false,
  needsHttps: false,
  recipe: ({ base, models }) => `OPENAI_BASE_URL='${base}/v1' OPENAI_API_KEY='<key>' OPENAI_MODEL='${models[0]}' qwen --auth-type openai`,
  agentArguments: ["--acp"],
  providerAlias: "qwen"
}

const piApis = { chat: "openai-completions", responses: "openai-responses" } as const

const pi: Tool = {
  id: "pi",
  name: "pi",
  command: "pi",
  versionArguments: ["--version"],
  directory: [".pi", "agent"],
  files: [{ name: "models.json", format: "json" }, { name: "settings.json", format: "json" }],
  endpoint: at("models.json", "providers", OWN, "baseUrl"),
  suffix: "/v1",
  key: at("models.json", "providers", OWN, "apiKey"),
  chosen: { ...at("settings.json", "defaultProvider"), is: OWN },
  changes: ({ base, key, models, wireApi }) => ({
    "models.json": [
      put(`${base}/v1`, "providers", OWN, "baseUrl"), putKey(key, "providers", OWN, "apiKey"), put(piApis[wireApi], "providers", OWN, "api"),
      ...models.map((id): Change => ({ path: ["providers", OWN, "models"], item: { id } }))
    ],
    "settings.json": [put(OWN, "defaultProvider"), put(models[0], "defaultModel")]
  }),
  wireApis: ["chat", "responses"],
  takesReasoningEffort: false,
  takesSeveralModels: true,
  needsHttps: false,
  recipe: null,
  agentArguments: null,
  providerAlias: "openai"
}

export const tools: ReadonlyArray<Tool> = [codex, gemini, qwen, pi]
export const toolIds = ["codex", "gemini", "qwen", "pi"] as const satisfies ReadonlyArray<ToolId>
export const toolOf = (id: ToolId): Tool => tools.find((tool) => tool.id === id) as Tool
