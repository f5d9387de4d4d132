/**
 * Lint rules, and which folder may import which: one row per folder, everything that a row does not name is refused.
 * `test/rooms.test.ts` fails for a folder without a row, and for folders that import each other in a circle.
 */
import { defineConfig, type OxlintOverride } from "oxlint"

const folder = (path: string) => [`#${path}/*`, `#${path}/**`]
const effect = ["effect", "effect/*", "effect/**"]
const node = ["node:*", "node:*/*"]
/** Loops and timers of every folder are rows of one table. */
const supervision = ["#actors/Supervisor.ts", "#actors/Ticker.ts"]
const schemas = folder("schemas")
const actors = folder("actors")
/** Formats, routing and the registry: pure, and free to use each other. */
const core = [...folder("src/wire"), ...folder("src/compression"), ...folder("src/routing"), ...folder("src/providers")]
const platform = folder("src/platform")
const lane = [...folder("src/inference/lane"), ...folder("src/inference/ports")]
const kit = folder("src/management")

export interface Room {
  readonly may: ReadonlyArray<string>
  readonly why: string
}

const pure = (why: string): Room => ({ may: [...effect, ...schemas, ...actors, ...core], why })

/** `drivers`: packages that only this folder may import. */
const platformRoom = (...drivers: ReadonlyArray<string>): Room => ({
  may: [...effect, ...node, ...schemas, ...actors, ...core, ...platform, ...drivers],
  why: "the platform knows no feature and no endpoint: schemas, actors' ports, its own driver and other platform folders only."
})

const modality = (name: string): Room => ({
  may: [...effect, ...node, ...schemas, ...actors, ...core, ...platform, ...lane, ...folder(`src/inference/${name}`)],
  why: "a kind of inference request builds on the lane, never on another kind or on a feature."
})

/** `portsOf`: features whose ports this one may import. */
const feature = (name: string, portsOf: ReadonlyArray<string> = [], drivers: ReadonlyArray<string> = []): Room => ({
  may: [
    ...effect, ...node, ...schemas, ...actors, ...core, ...platform, ...lane, ...kit, ...folder(`src/features/${name}`),
    ...portsOf.flatMap((other) => folder(`src/features/${other}/ports`)), ...drivers
  ],
  why: "a feature imports the management kit, the lane, the platform and actors; of another feature only ports, and only if this table says so."
})

/** Import rules by folder; a row holds for every folder below it. */
export const rooms: Readonly<Record<string, Room>> = {
  schemas: { may: [...effect, ...schemas], why: "schemas import effect and schemas only: what things are, never how they are done." },
  actors: { may: [...effect, ...schemas, ...actors], why: "actors import effect, schemas and actors only: never src, a driver or an HTTP server." },
  "src/wire": pure("formats are pure: schemas, ports, routing and the registry only."),
  "src/compression": pure("compression is pure: schemas, ports, formats and routing only."),
  "src/routing": pure("routing is pure: schemas, ports, formats and the registry only."),
  "src/providers": pure("the registry is data and pure rules."),
  "src/platform/server": {
    may: [...effect, ...node, ...supervision, "#actors/SharedBytes.ts", ...folder("src/platform/server"), ...folder("src/platform/structures"), "uWebSockets.js"],
    why: "the front end knows no gateway: effect, uWebSockets.js, node and the table of loops only."
  },
  "src/platform/structures": platformRoom(),
  "src/platform/files": platformRoom(),
  "src/platform/gate": platformRoom(),
  "src/platform/configuration": platformRoom(),
  "src/platform/accounting": platformRoom("gpt-tokenizer", "gpt-tokenizer/**", "msgpackr"),
  "src/platform/cluster": platformRoom("@effect/platform-node", "@effect/platform-node/**"),
  "src/platform/postgres": platformRoom("postgres", "@electric-sql/*", "@electric-sql/**"),
  "src/platform/redis": platformRoom("ioredis", "msgpackr"),
  "src/platform/secrets": platformRoom(),
  "src/platform/spool": platformRoom(),
  "src/platform/telemetry": platformRoom(),
  "src/platform/upstream": platformRoom(),
  "src/platform/media": platformRoom(),
  "src/platform/programs": platformRoom(),
  "src/platform/sandbox": platformRoom(),
  "src/platform/pages": platformRoom("linkedom", "@mozilla/readability", "turndown", "@joplin/turndown-plugin-gfm", "html-encoding-sniffer", "unpdf"),
  "src/inference/ports": { may: [...effect, ...schemas, ...actors, ...core, ...folder("src/inference/ports")], why: "ports are contracts over schemas and actors." },
  "src/inference/lane": modality("lane"),
  "src/inference/audio": modality("audio"),
  "src/inference/classify": modality("classify"),
  "src/inference/conversations": modality("conversations"),
  "src/inference/embeddings": modality("embeddings"),
  "src/inference/images": modality("images"),
  "src/inference/models": modality("models"),
  "src/inference/moderations": modality("moderations"),
  "src/inference/music": modality("music"),
  "src/inference/ocr": modality("ocr"),
  "src/inference/rerank": modality("rerank"),
  "src/inference/segment": modality("segment"),
  "src/inference/search": modality("search"),
  "src/inference/sockets": modality("sockets"),
  "src/inference/videos": modality("videos"),
  "src/inference/webFetch": modality("webFetch"),
  "src/management": {
    may: [...effect, ...node, ...schemas, ...actors, ...core, ...platform, ...lane, ...kit, "jose"],
    why: "the kit serves features and knows none of them."
  },
  "src/features/a2a": feature("a2a", [], ["@a2a-js/sdk", "@a2a-js/sdk/**"]),
  "src/features/auth": feature("auth"),
  "src/features/backups": feature("backups"),
  "src/features/batches": feature("batches", ["files"]),
  "src/features/accountRecovery": feature("accountRecovery", ["settings"]),
  "src/features/addresses": feature("addresses"),
  "src/features/bodies": feature("bodies"),
  "src/features/cache": feature("cache", [], ["msgpackr"]),
  "src/features/capabilities": feature("capabilities"),
  "src/features/cliTools": feature("cliTools"),
  "src/features/combos": feature("combos"),
  "src/features/cloudAgents": feature("cloudAgents"),
  "src/features/compliance": feature("compliance"),
  "src/features/compression": feature("compression", ["bodies", "settings"]),
  "src/features/configFile": feature("configFile", [], [
    // The file has the fields of the API.
    "yaml", ...["combos", "keys", "providers", "webhooks"].map((name) => `#src/features/${name}/api.ts`), "#src/features/providers/nodes/api.ts"
  ]),
  "src/features/dashboard": feature("dashboard"),
  "src/features/database": feature("database", ["backups"]),
  "src/features/docs": feature("docs"),
  "src/features/drills": feature("drills"),
  "src/features/environment": feature("environment"),
  "src/features/assessment": feature("assessment"),
  "src/features/evals": feature("evals"),
  "src/features/fallbackChains": feature("fallbackChains"),
  "src/features/files": feature("files", [], ["aws4fetch"]),
  "src/features/flags": feature("flags"),
  "src/features/guardrails": feature("guardrails"),
  "src/features/health": feature("health", ["resilience"]),
  "src/features/keys": feature("keys"),
  "src/features/leases": feature("leases"),
  "src/features/limits": feature("limits"),
  "src/features/live": feature("live"),
  "src/features/mcp": feature("mcp"),
  "src/features/mcpServers": feature("mcpServers", ["mcp"]),
  "src/features/memory": feature("memory", ["settings"]),
  "src/features/metrics": feature("metrics"),
  "src/features/nodes": feature("nodes"),
  "src/features/oauth": feature("oauth", ["providers", "resilience"], ["jose"]),
  "src/features/oidc": feature("oidc", [], ["jose"]),
  "src/features/payloadRules": feature("payloadRules", ["settings"]),
  "src/features/pricing": feature("pricing"),
  "src/features/providers": feature("providers", ["resilience"]),
  "src/features/agentSkills": feature("agentSkills"),
  "src/features/plugins": feature("plugins"),
  "src/features/skills": feature("skills"),
  "src/features/purges": feature("purges", ["bodies", "quotas"]),
  "src/features/proxies": feature("proxies"),
  "src/features/quotas": feature("quotas", ["oauth", "resilience"]),
  "src/features/reasoning": feature("reasoning"),
  "src/features/resilience": feature("resilience", ["sessions"]),
  "src/features/responses": feature("responses"),
  "src/features/routing": feature("routing"),
  "src/features/search": feature("search", ["cache"]),
  "src/features/sessions": feature("sessions"),
  "src/features/settings": feature("settings", ["combos", "resilience"]),
  "src/features/systemPrompt": feature("systemPrompt", ["settings"]),
  "src/features/taskRouting": feature("taskRouting", ["settings"]),
  "src/features/thinkingBudget": feature("thinkingBudget", ["settings"]),
  "src/features/signatures": feature("signatures"),
  "src/features/sync": feature("sync", ["configFile", "providers"]),
  "src/features/tokens": feature("tokens"),
  "src/features/toolPolicy": feature("toolPolicy"),
  "src/features/transfer": feature(
    // The document has the fields of the API.
    "transfer", ["combos", "fallbackChains", "providers", "settings"], ["pricing", "providers", "providers/models", "providers/nodes"].map((name) => `#src/features/${name}/api.ts`)
  ),
  "src/features/translator": feature("translator"),
  "src/features/tunnels": feature("tunnels"),
  "src/features/usage": feature("usage", ["quotas", "sessions"]),
  "src/features/webhooks": feature("webhooks"),
  "src/features/welcome": feature("welcome", ["dashboard"]),
  dashboard: {
    may: ["../*", "../**", "../../*", "../../**", "react", "react-dom/client", "@tanstack/react-query", "@tanstack/react-router", "effect/http-api/*", "effect/Schema", "#src/features/**/api.ts"],
    why: "the page imports its own files, its libraries, and the types of the API: nothing of the server runs in a browser."
  },
  "src/simulator": {
    may: [...effect, ...node, ...supervision, ...schemas, ...folder("src/simulator"), ...folder("src/wire"), ...platform],
    why: "the simulator is an upstream: it knows formats and the front end, never the gateway."
  }
}

/** Folders that wire or describe the whole: they may import everything, and no row above names them. */
export const assemblies: ReadonlyArray<string> = ["src/bootstrap", "src/cli", "src/openapi"]

const overrideOf = ([path, { may, why }]: readonly [string, Room]): OxlintOverride => ({
  files: [`${path}/**/*.ts`, `${path}/**/*.tsx`],
  rules: { "no-restricted-imports": ["error", { patterns: [{ group: ["*", "!./*", "!./**", ...may.map((name) => `!${name}`)], message: why }] }] }
})

export default defineConfig({
  plugins: ["typescript", "import", "unicorn", "promise", "react", "jsx-a11y"],
  categories: { correctness: "error" },
  env: { node: true, es2024: true },
  ignorePatterns: ["node_modules", "data", "bench/.work", "dashboard/dist*"],
  rules: {
    "typescript/no-explicit-any": "error",
    "typescript/ban-ts-comment": "error",
    "import/no-cycle": "error",
    "no-console": "error",
    "max-lines": ["error", { max: 400, skipBlankLines: true, skipComments: true }],
    "require-yield": "off",
    "unicorn/no-thenable": "off",
    // A sentence may be a status; a box that scrolls takes the focus, so that keys can scroll it; a dialog begins at its first field.
    "jsx-a11y/prefer-tag-over-role": "off",
    "jsx-a11y/no-noninteractive-tabindex": "off",
    "jsx-a11y/no-autofocus": "off"
  },
  overrides: [
    ...Object.entries(rooms).map(overrideOf),
    { files: ["bench/**/*.ts", "test/**/*.ts", "src/cli/**/*.ts", "deploy/*.mjs"], rules: { "no-console": "off" } }
  ]
})
