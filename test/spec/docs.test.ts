/** The pages name what there is: variables, flags, files, pages and headings. */
import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it } from "vitest"
import * as FlagCatalogue from "#schemas/flagCatalogue.ts"
import * as Settings from "#src/platform/configuration/Settings.ts"

const root = path.join(import.meta.dirname, "..", "..")
const read = (...parts: ReadonlyArray<string>): string => fs.readFileSync(path.join(root, ...parts), "utf8")
const variable = /(?<![A-Za-z0-9_])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![A-Za-z0-9_])/g

/** Of Node, of other programs, and of the shell lines of a page. */
const foreign = ["DOCS_PICTURES", "GATEWAY_TEST_FULL", "GATEWAY_TOKEN", "NO_COLOR", "NODE_COMPILE_CACHE", "NODE_DISABLE_COMPILE_CACHE", "NODE_OPTIONS", "POSTGRES_PASSWORD", "RLIMIT_DATA", "RLIMIT_NOFILE"]
/** Codes of errors, of the gateway and of its database client. */
const codes = ["LOCAL_ONLY", "MARKETPLACE_DISABLED", "MCP_DISABLED", "MCP_TRANSPORT_MISMATCH", "MEMORY_CHANGED", "PLUGINS_DISABLED", "PLUGINS_UNAVAILABLE", "PLUGIN_FAILED", "PROXY_001", "SKILLS_DISABLED", "SKILLS_UNAVAILABLE", "UNSAFE_TRANSACTION"]
/** What vendors' clients read to find the gateway. */
const clients = [
  "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_MODEL", "CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY", "CODEX_HOME",
  "GOOGLE_GEMINI_BASE_URL", "OLLAMA_BASE_URL", "OLLAMA_HOST", "OPENAI_API_BASE_URL", "OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_REVERSE_PROXY",
  "OPENCODE_CONFIG_CONTENT", "PI_CODING_AGENT_DIR", "GWKEY"
]
const vendors = fs.readdirSync(path.join(root, "src", "providers", "data"))
  .flatMap((file) => read("src", "providers", "data", file).match(variable) ?? [])
/** What guardrails put in the place of what they find, and their error. */
const guardrails = [...["EMAIL", "CARD", "SSN", "PHONE", "CPF", "CNPJ"].map((kind) => `${kind}_REDACTED`), "SECURITY_001"]
const known = new Set<string>([
  ...guardrails,
  ...[...Settings.markdown().matchAll(/^\| ([A-Z0-9_]+) \|/gm)].map(([, name]) => name ?? ""),
  ...FlagCatalogue.catalogue.map(({ key }) => key),
  ...vendors,
  ...foreign,
  ...codes,
  ...clients
])

const blocks = /^```[\s\S]*?^```/gm

/** The text between backticks, in lines and in blocks. */
const quoted = (text: string): ReadonlyArray<string> => [...text.match(blocks) ?? [], ...spans(text)]

/** The text between backticks in lines. */
const spans = (text: string): ReadonlyArray<string> => text.replaceAll(blocks, "").match(/`[^`]+`/g) ?? []

const below = (folder: string): ReadonlyArray<string> =>
  fs.readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const place = path.join(folder, entry.name)
    return entry.isDirectory() ? below(place) : entry.name.endsWith(".md") ? [place] : []
  })

const pages = [...fs.readdirSync(root).filter((file) => file.endsWith(".md")), ...below("docs")]

interface Link {
  /** Relative to the root. */
  readonly file: string
  readonly anchor: string | null
}

const outside = /^(?:[a-z]+:|\/)/

const linksOf = (page: string, text: string): ReadonlyArray<Link> =>
  [...text.replaceAll(blocks, "").matchAll(/\]\(([^)\s]+)\)/g), ...text.matchAll(/\b(?:src|href)="([^"]+)"/g)]
    .map(([, target]) => target ?? "")
    .filter((target) => !outside.test(target))
    .map((target) => {
      const [file = "", anchor = null] = target.split("#")
      return { file: file === "" ? page : path.join(path.dirname(page), file), anchor }
    })

/** A heading's anchor as code hosts make it. */
const anchorOf = (heading: string): string =>
  heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").trim().replaceAll(/\s/g, "-")

const anchorsOf = (text: string): ReadonlySet<string> =>
  new Set([...text.replaceAll(blocks, "").matchAll(/^#{1,6} (.*)$/gm)].map(([, heading]) => anchorOf(heading ?? "")))

const broken = (page: string, text: string): ReadonlyArray<string> => linksOf(page, text).flatMap(({ anchor, file }) => {
  if (!fs.existsSync(path.join(root, file))) return [file]
  return anchor === null || anchorsOf(file === page ? text : read(file)).has(anchor) ? [] : [`${file}#${anchor}`]
})

/** `src/x.ts`, `test/y`: text between backticks that begins with a folder of this repository. */
const repositoryPath = /^(?:schemas|actors|src|test|bench|docs|deploy|bin|\.ci)\/[\w./*{},<>-]*$/

/** The paths that a span stands for: `a/{b,c}.ts` is two. */
const expanded = (text: string): ReadonlyArray<string> => {
  const braces = /^(.*?)\{([^}]*)\}(.*)$/.exec(text)
  return braces === null ? [text] : (braces[2] ?? "").split(",").flatMap((part) => expanded(`${braces[1]}${part}${braces[3]}`))
}

/** `*` and `<noun>` stand for any name; a test may be named without its ending, as the runner takes it. */
const exists = (place: string): boolean => {
  const parts = place.replace(/\/$/, "").split("/")
  const matches = (folder: string, [part = "", ...rest]: ReadonlyArray<string>): boolean => {
    if (part === "") return true
    const pattern = new RegExp(`^${part.replaceAll(/<[^>]*>/g, "*").replaceAll(".", "\\.").replaceAll("*", ".*")}${rest.length === 0 ? "(?:\\.test\\.ts)?" : ""}$`)
    const entries = fs.existsSync(path.join(root, folder)) && fs.statSync(path.join(root, folder)).isDirectory() ? fs.readdirSync(path.join(root, folder)) : []
    return entries.some((entry) => pattern.test(entry) && matches(path.join(folder, entry), rest))
  }
  return matches("", parts)
}

const missingPaths = (text: string): ReadonlyArray<string> =>
  spans(text).flatMap((span) => span.slice(1, -1).split(/\s+/)).filter((word) => repositoryPath.test(word)).flatMap(expanded).filter((place) => !exists(place))

/** `GET /api/x`, `POST /v1/y, /v1/z`: a call of the gateway's own surface. */
const callsIn = (text: string): ReadonlyArray<string> =>
  [...quoted(text).join("\n").matchAll(/\b(GET|POST|PUT|PATCH|DELETE) (\/(?:api|v1|v1beta|metrics)\b[\w/{}:-]*)/g)].map(([, method, place]) => `${method} ${place}`)

const description = JSON.parse(read("openapi.json")) as { readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>> }
/** Parameters may be called otherwise in a page. */
const shape = (call: string): string => call.replaceAll(/\{[^}]*\}|(?<=\/):\w+/g, "{}").replace(/(?<=\}):\w+$/, ":{}")
const served = new Set(Object.entries(description.paths).flatMap(([place, methods]) => Object.keys(methods).map((method) => shape(`${method.toUpperCase()} ${place}`))))
/** Their calls are the simulator's, or are listed because they are not served. */
const elsewhere = ["docs/simulator.md", "docs/known-limits.md", "CHANGELOG.md"]

const sourcesBelow = (folder: string): ReadonlyArray<string> =>
  fs.readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts") && !file.startsWith("simulator")).map((file) => read(folder, file))
const sources = ["actors", "schemas", "src"].flatMap(sourcesBelow).join("\n")
const all = (text: string, pattern: RegExp): ReadonlyArray<string> => [...new Set([...text.matchAll(pattern)].map(([, name]) => (name ?? "").toLowerCase()))].toSorted()

/** They travel between parts of the gateway itself. */
const inner = [
  "x-gateway-cli-token", "x-gateway-mcp-call", "x-gateway-mcp-transport"
]

describe("docs/headers.md and docs/metrics.md", () => {
  it("have every header of the gateway, and no other", () => {
    const known = all(sources, /["'`](x-gateway-[a-z-]+)["'`]/gi).filter((name) => !inner.includes(name))
    expect(known.length).toBeGreaterThan(30)
    expect(all(read("docs/headers.md"), /\b(x-gateway-[a-z-]+)/gi)).toEqual(known)
  })

  it("have every metric, and no other", () => {
    const made = /(?:Metric\.\w+|#count|#histogram|counter|gauge|histogram|total)\(\s*"((?:gateway|process)_[a-z_]+)"|name: "((?:gateway|process)_[a-z_]+)", help/g
    const known = [...new Set([...sources.matchAll(made)].map(([, called, named]) => called ?? named ?? ""))].toSorted()
    expect(known.length).toBeGreaterThan(40)
    expect(all(read("docs/metrics.md").replaceAll(blocks, ""), /`((?:gateway|process)_[a-z_]+)`/g)).toEqual(known)
  })
})

/** Shell lines that ask a gateway, each with the lines that it goes on over. */
const asked = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block = ""]) => block.replaceAll("\\\n", " ").split("\n")).filter((line) => /\bcurl\b/.test(line))

describe("comments", () => {
  it("name only files that there are", () => {
    const wrong = ["actors", "bench", "schemas", "src"].flatMap((folder) =>
      fs.readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts")).flatMap((file) =>
        missingPaths((read(folder, file).match(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm) ?? []).join("\n")).map((place) => `${folder}/${file}: ${place}`)))
    expect(wrong).toEqual([])
  })
})

describe("commands of the pages", () => {
  it("go on from the sign-in of README.md: one address, one file of cookies, and a credential for management", () => {
    const lines = pages.filter((page) => page !== "docs/simulator.md").flatMap((page) => asked(read(page)).map((line) => `${page}: ${line}`))
    expect(lines.length).toBeGreaterThan(15)
    expect(lines.filter((line) => !/ '?(?:http:\/\/)?localhost:20128\//.test(line))).toEqual([])
    expect(lines.filter((line) => / -b (?!jar\b)/.test(line))).toEqual([])
    expect(lines.filter((line) => /localhost:20128\/api\/(?!auth\/login)/.test(line) && !/ -b jar\b|Authorization/i.test(line))).toEqual([])
  })
})

describe("the checks of pages", () => {
  it("know the settings and the flags", () => {
    expect([known.has("GATEWAY_WORKERS"), known.has("REQUIRE_API_KEY"), known.has("OPENAI_API_KEY")]).toEqual([true, true, true])
    expect(quoted("a `GATEWAY_X` b\n```sh\nY_Z=1\n```\n").join(" ").match(variable)).toEqual(["Y_Z", "GATEWAY_X"])
  })

  it("find a call that is not served", () => {
    const calls = callsIn("`GET /api/keys/{name}` `DELETE /api/nothing`\n```sh\ncurl -X POST localhost/v1/none\nGET /v1/models\n```\n")
    expect(calls).toEqual(["GET /v1/models", "GET /api/keys/{name}", "DELETE /api/nothing"])
    expect(calls.filter((call) => !served.has(shape(call)))).toEqual(["DELETE /api/nothing"])
  })

  it("find a missing page, heading and file", () => {
    const text = "# One, two\n[a](docs/none.md) [b](#one-two) [c](#three) [d](https://example.org) <img src=\"docs/none.svg\">"
    expect(broken("README.md", text)).toEqual(["docs/none.md", "README.md#three", "docs/none.svg"])
    expect(missingPaths("`src/App.ts` `src/none.ts` `src/{App,None}.ts` `src/features/<noun>/api.ts` `test/spec/docs` `test/none/*` `npx vitest run test/none`"))
      .toEqual(["src/none.ts", "src/None.ts", "test/none/*", "test/none"])
  })
})

describe.each(pages)("%s", (page) => {
  it("names only variables and flags that there are", () => {
    // `${NAME}` in a configuration file is a variable of the operator's own, as GATEWAY_SYNC_NAME is.
    const unknown = (read(page).replaceAll(/\$\{\w+\}|GATEWAY_SYNC_\w+/g, "").match(variable) ?? []).filter((name) => !known.has(name))
    expect([...new Set(unknown)]).toEqual([])
  })

  it("are short where a stranger begins: the README, and the words that are needed", () => {
    expect(read("README.md").trimEnd().split("\n").length).toBeLessThanOrEqual(150)
    for (const [page, from] of [["docs/concepts.md", "# Concepts"], ["AGENTS.md", "## Words"]] as const) {
      const [words = ""] = read(page).slice(read(page).indexOf(from)).split(/\n## (?:A streaming|Layout)/)
      const rows = words.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| word |"))
      expect([page, rows.length > 10, rows.length <= 25]).toEqual([page, true, true])
    }
  })

  it("links only to pages and headings that there are", () => {
    expect(broken(page, read(page))).toEqual([])
  })

  it("names only files that there are", () => {
    expect(missingPaths(read(page))).toEqual([])
  })
})

describe.each(pages.filter((page) => !elsewhere.includes(page)))("%s", (page) => {
  it("names only calls that the gateway serves", () => {
    expect(callsIn(read(page)).filter((call) => !served.has(shape(call)))).toEqual([])
  })
})
