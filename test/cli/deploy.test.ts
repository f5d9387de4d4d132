/** The files of deploy/: they name what there is, and the health check tells a gateway that serves from one that does not. */
import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it } from "vitest"
import * as YAML from "yaml"
import * as FlagCatalogue from "#schemas/flagCatalogue.ts"
import { FILE_BYTES } from "#src/features/files/Files.ts"
import { FORM_BYTES } from "#src/inference/lane/Intake.ts"
import { builtin } from "#src/providers/Registry.ts"
import * as Settings from "#src/platform/configuration/Settings.ts"
import { Command, emptyDirectory, freePort, root, start } from "./support/command.ts"

const read = (file: string): string => fs.readFileSync(path.join(root, "deploy", file), "utf8")

const variables = new Map([...Settings.markdown().matchAll(/^\| ([A-Z0-9_]+) \| ([^|]*) \|/gm)].map(([, name = "", fallback = ""]) => [name, fallback.trim()]))
/** Of the images of Postgres, and of Node. */
const foreign = ["POSTGRES_DB", "POSTGRES_USER", "POSTGRES_PASSWORD", "NODE_COMPILE_CACHE"]
const known = new Set<string>([...variables.keys(), ...FlagCatalogue.catalogue.map(({ key }) => key), ...builtin.all.flatMap(({ env }) => env), ...foreign])

const namesIn: Readonly<Record<string, RegExp>> = {
  "compose.yaml": /^\s+([A-Z][A-Z0-9_]+):|\$\{([A-Z][A-Z0-9_]+)/gm,
  "env.example": /^#?([A-Z][A-Z0-9_]+)=/gm,
  "Dockerfile": /^ENV ([A-Z][A-Z0-9_]+)=/gm,
  "gateway.service": /^Environment=([A-Z][A-Z0-9_]+)=/gm
}

const lines = (name: string): ReadonlyArray<string> => [...read("Dockerfile").matchAll(new RegExp(`^${name} (.*)$`, "gm"))].map(([, rest = ""]) => rest)

describe("the files of deploy/", () => {
  it.each(Object.entries(namesIn))("%s names only variables that there are", (file, pattern) => {
    const names = [...read(file).matchAll(pattern)].map(([, first, second]) => first ?? second ?? "")
    expect(names.length).toBeGreaterThan(1)
    expect(names.filter((name) => !known.has(name))).toEqual([])
  })

  it("compose.yaml asks env.example's variables only", () => {
    const asked = [...read("compose.yaml").matchAll(/\$\{([A-Z0-9_]+)/g)].map(([, name]) => name)
    const given = [...read("env.example").matchAll(/^#?([A-Z0-9_]+)=/gm)].map(([, name]) => name)
    expect(asked.filter((name) => !given.includes(name))).toEqual([])
  })

  it("compose.yaml gives every variable of env.example to both gateways", () => {
    const { services } = YAML.parse(read("compose.yaml"), { merge: true }) as { services: Record<string, { environment?: object; env_file?: ReadonlyArray<string> }> }
    const gateways = Object.entries(services).filter(([name]) => name.startsWith("gateway-"))
    expect(gateways).toHaveLength(2)
    for (const [name, { env_file: files = [] }] of gateways) expect([name, files]).toEqual([name, [".env"]])
  })

  it("the image copies files that there are, and does not run as root", () => {
    const sources = lines("COPY").filter((rest) => !rest.startsWith("--from")).flatMap((rest) => rest.split(" ").slice(0, -1))
    expect(sources).toContain("src")
    expect(sources.filter((source) => !fs.existsSync(path.join(root, source)))).toEqual([])
    expect(lines("USER")).toEqual(["gateway"])
  })

  it("services wait longer for a stop than the gateway takes", () => {
    const longestMs = Number(variables.get("SHUTDOWN_TIMEOUT_MS")) + 2_000
    const [, unit] = /^TimeoutStopSec=(\d+)$/m.exec(read("gateway.service")) ?? []
    const [, compose] = /stop_grace_period: (\d+)s/.exec(read("compose.yaml")) ?? []
    expect([Number(unit) * 1_000 > longestMs, Number(compose) * 1_000 > longestMs]).toEqual([true, true])
  })

  it("nginx lets every form through that the gateway takes, and larger bodies to the gateway's own refusal", () => {
    for (const text of [read("nginx.conf"), fs.readFileSync(path.join(root, "docs", "reverse-proxy.md"), "utf8")]) {
      const sizes = [...text.matchAll(/client_max_body_size (\d+)m;/g)].map(([, megabytes]) => Number(megabytes) * 1_024 * 1_024)
      expect(sizes).toHaveLength(2)
      expect(sizes.map((size, at) => size > [FORM_BYTES, FILE_BYTES][at]!)).toEqual([true, true])
    }
  })

  it("the unit of systemd starts a file of the repository", () => {
    const [, file = "none"] = /^ExecStart=\/opt\/gateway\/(\S+) serve$/m.exec(read("gateway.service")) ?? []
    expect(fs.existsSync(path.join(root, file))).toBe(true)
  })

  it("the health check succeeds while the gateway serves, and names what is wrong otherwise", async () => {
    const [check = ""] = lines("HEALTHCHECK")
    const [, script = ""] = JSON.parse(check.slice(check.indexOf("["))) as ReadonlyArray<string>
    const port = await freePort()
    const ask = () => new Command(process.execPath, [path.join(root, script)], { env: { PORT: String(port) } }).ended
    const before = await ask()
    expect(before.code).toBe(1)
    expect(before.stderr).toContain(`port ${port}`)
    const gateway = start(["serve", "--port", String(port), "--data-dir", path.join(emptyDirectory(), "data")])
    await gateway.said("Try it:")
    expect(await ask()).toMatchObject({ code: 0, stderr: "" })
    await gateway.stop()
    expect((await ask()).code).toBe(1)
  })
})
