import { execFileSync, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it } from "vitest"
import { version } from "#schemas/version.ts"
import { emptyDirectory, root, run } from "./support/command.ts"

const filesBelow = (folder: string, ending: string): ReadonlyArray<string> =>
  fs.readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(ending)).map((file) => path.join(folder, file))

describe("gateway --help", () => {
  it("names every command, and every command explains itself", async () => {
    const { code, stdout } = await run(["--help"])
    expect(code).toBe(0)
    for (const name of ["serve", "sim", "mcp", "migrate", "providers", "nodes", "combos", "usage", "logs", "chat", "export", "keys", "rekey", "doctor", "password", "openapi", "docs", "bench"]) expect(stdout).toContain(`\n  ${name} `)
    const keys = await run(["keys", "create", "--help"])
    expect(keys.stdout).toContain("--scope")
  })

  it("names all commands that pages and the dashboard name, and docs/cli.md names all that it names", async () => {
    const [, listed = ""] = (await run(["--help"])).stdout.split("SUBCOMMANDS\n")
    const commands = [...listed.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name)
    const named = (text: string) => new Set([...text.matchAll(/(?:(?:`|<code>)gateway|npm run (?:--silent )?gateway --|bin\/gateway) ([a-z]+)/g)].map(([, name]) => name))
    const everything = filesBelow("docs", ".md").concat(filesBelow("dashboard", ".tsx"), "README.md", "AGENTS.md", "CONTRIBUTING.md").map((file) => fs.readFileSync(path.join(root, file), "utf8")).join("\n")
    expect(commands.length).toBeGreaterThan(15)
    expect([...named(everything)].filter((name) => !commands.includes(name))).toEqual([])
    const page = named(fs.readFileSync(path.join(root, "docs/cli.md"), "utf8"))
    expect(commands.filter((name) => !page.has(name))).toEqual([])
  })

  it("--version is the package's", async () => {
    const { version: packaged } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")) as { version: string }
    expect(version).toBe(packaged)
    expect((await run(["--version"])).stdout).toContain(version)
  })

  it("a command line that cannot be read is exit code 2 and says what was meant", async () => {
    const unknown = await run(["keyz"])
    expect(unknown.code).toBe(2)
    expect(unknown.stderr).toContain("keys")
    const flag = await run(["serve", "--port", "many"])
    expect(flag.code).toBe(2)
    expect(flag.stderr).toContain("--port")
  })
})

describe("bin/gateway", () => {
  it("finds its sources and the installed Node through links, from anywhere", () => {
    const directory = emptyDirectory()
    fs.symlinkSync(path.join(root, "bin/gateway"), path.join(directory, "first"))
    fs.symlinkSync("first", path.join(directory, "gw"))
    expect(execFileSync(path.join(directory, "gw"), ["--version"], { cwd: directory, env: { PATH: "/usr/bin:/bin" }, encoding: "utf8" })).toContain(version)
  })

  it("without an installed Node it takes a fitting one from PATH, and refuses any other by name", () => {
    const directory = emptyDirectory()
    fs.mkdirSync(path.join(directory, "bin"))
    fs.mkdirSync(path.join(directory, "path"))
    fs.copyFileSync(path.join(root, "bin/gateway"), path.join(directory, "bin/gateway"))
    const withNode = (answer: string) => {
      fs.writeFileSync(path.join(directory, "path/node"), `#!/bin/sh\nif [ "$1" = --version ]; then echo ${answer}; else echo "ran $*"; fi\n`, { mode: 0o755 })
      return spawnSync(path.join(directory, "bin/gateway"), ["doctor"], { env: { PATH: `${path.join(directory, "path")}:/usr/bin:/bin` }, encoding: "utf8" })
    }
    for (const old of ["v18.20.4", "v20.20.2", "v22.9.0", "v24.1.0"]) {
      const refused = withNode(old)
      expect(refused.status).toBe(1)
      expect(refused.stderr).toContain(old)
      expect(refused.stderr).toContain("npm ci")
    }
    expect(withNode("v22.19.0").stdout).toContain("src/main.ts doctor")
    expect(withNode("v22.23.3").stdout).toContain("src/main.ts doctor")
  })

  it("starts Node with the flags and the memory settings of `npm start`", () => {
    const directory = emptyDirectory()
    for (const folder of ["bin", "src", "path"]) fs.mkdirSync(path.join(directory, folder))
    fs.copyFileSync(path.join(root, "bin/gateway"), path.join(directory, "bin/gateway"))
    const node = 'if [ "$1" = --version ]; then echo v22.23.3; else echo "$*"; env | grep ^MALLOC_ | sort; fi'
    fs.writeFileSync(path.join(directory, "path/node"), `#!/bin/sh\n${node}\n`, { mode: 0o755 })
    const said = (command: string) =>
      execFileSync("sh", ["-c", command], { cwd: directory, env: { PATH: `${path.join(directory, "path")}:/usr/bin:/bin` }, encoding: "utf8" })
    const { scripts } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")) as { readonly scripts: { readonly start: string } }
    const ofNpm = said(scripts.start)
    expect(ofNpm).toMatch(/--max-semi-space-size=.*\nMALLOC_MMAP_THRESHOLD_=\d+\nMALLOC_TRIM_THRESHOLD_=\d+\n$/s)
    expect(said("bin/gateway serve").replaceAll(`${fs.realpathSync(directory)}/src`, "src").replace("--import=", "--import=./")).toBe(ofNpm)
  })
})
