/**
 * Lint rules, and who may import whom: one row per folder, everything that a row does not name is refused.
 */
import { defineConfig, type OxlintOverride } from "oxlint"

const effect = ["effect", "effect/*", "effect/**"]
const folder = (path: string) => [`#${path}/*`, `#${path}/**`]
const schemas = folder("schemas")
const actors = folder("actors")
const node = ["node:*", "node:*/*"]
const pure = [...effect, ...schemas, ...actors, ...folder("src/routing"), ...folder("src/wire"), ...folder("src/stages"), ...folder("src/providers")]

interface Room {
  readonly may: ReadonlyArray<string>
  readonly why: string
}

/** Import rules by folder. */
export const rooms: Readonly<Record<string, Room>> = {
  schemas: { may: [...effect, ...schemas], why: "schemas import effect and schemas only: WHAT, never HOW." },
  actors: { may: [...effect, ...schemas, ...actors], why: "actors import schemas, actors and effect only: never src, a driver or an HTTP server." },
  "src/routing": { may: pure, why: "routing is pure: schemas, ports, formats and the registry only." },
  "src/wire": { may: pure, why: "formats are pure: schemas, ports, routing and the registry only." },
  "src/platform/server": {
    may: [...effect, ...folder("src/platform/server"), ...folder("src/platform/structures"), "#actors/Supervisor.ts", "#actors/Ticker.ts", "uWebSockets.js", ...node],
    why: "the front end knows no gateway: effect, uWebSockets.js, node and the supervisor of loops only."
  }
}

const overrideOf = ([path, { may, why }]: readonly [string, Room]): OxlintOverride => ({
  files: [`${path}/**/*.ts`],
  rules: { "no-restricted-imports": ["error", { patterns: [{ group: ["*", "!./*", "!./**", ...may.map((name) => `!${name}`)], message: why }] }] }
})

export default defineConfig({
  plugins: ["typescript", "import", "unicorn", "promise"],
  categories: { correctness: "error" },
  env: { node: true, es2024: true },
  ignorePatterns: ["node_modules", "data", "bench/.work"],
  rules: {
    "typescript/no-explicit-any": "error",
    "typescript/ban-ts-comment": "error",
    "import/no-cycle": "error",
    "no-console": "error",
    "max-lines": ["error", { max: 400, skipBlankLines: true, skipComments: true }],
    "require-yield": "off",
    "unicorn/no-thenable": "off"
  },
  overrides: [
    ...Object.entries(rooms).map(overrideOf),
    { files: ["bench/**/*.ts", "test/**/*.ts", "src/cli/**/*.ts", "deploy/*.mjs"], rules: { "no-console": "off" } }
  ]
})
