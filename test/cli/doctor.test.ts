import * as fs from "node:fs"
import * as path from "node:path"
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { listenerOn } from "#src/cli/processes.ts"
import * as Machine from "#src/cli/doctor/machine.ts"
import type { Finding } from "#src/cli/doctor/Finding.ts"
import * as Network from "#src/cli/doctor/network.ts"
import * as Settings from "#src/platform/configuration/Settings.ts"
import { Command, emptyDirectory, freePort, run, takenPort } from "./support/command.ts"

interface Report {
  readonly ok: boolean
  readonly findings: ReadonlyArray<Finding>
}

const doctor = async (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) => {
  const { code, stderr, stdout } = await run(["doctor", "--json", ...args], { env })
  const report = JSON.parse(stdout) as Report
  const levels = (check: string) => report.findings.filter((finding) => finding.check === check).map((finding) => finding.level)
  const text = (check: string) => report.findings.filter((finding) => finding.check === check).map((finding) => finding.text).join("\n")
  return { code, levels, report, stderr, text }
}

describe("gateway doctor", () => {
  it("finds nothing to mend in a fresh directory, and makes nothing there", async () => {
    const dataDir = path.join(emptyDirectory(), "data")
    const { code, report } = await doctor(["--port", "0", "--data-dir", dataDir])
    expect(code).toBe(0)
    expect(report.ok).toBe(true)
    expect(fs.existsSync(dataDir)).toBe(false)
  })

  it("names everything that is broken at once, with what to do, and ends with 1", async () => {
    const taken = await takenPort()
    const dataDir = path.join(emptyDirectory(), "data")
    fs.mkdirSync(dataDir, { mode: 0o755 })
    fs.writeFileSync(path.join(dataDir, "secret.key"), "x".repeat(43), { mode: 0o644 })
    const { code, levels, report, text } = await doctor(["--port", String(taken.port), "--data-dir", dataDir], {
      LOG_LEVEL: "loud",
      DATABASE_URL: "postgres://me:hush-hush@127.0.0.1:1/db",
      REDIS_URL: "redis://:hush-hush@127.0.0.1:1",
      INJECTION_GUARD_MODE: "maybe",
      REQUIRE_API_KEY: "maybe"
    })
    taken.close()
    expect(code).toBe(1)
    expect(report.ok).toBe(false)
    expect(text("settings")).toContain("LOG_LEVEL='loud'")
    expect(text("port")).toContain(`process ${process.pid}`)
    for (const check of ["settings", "port", "database", "redis", "master key"]) expect(new Set(levels(check))).toEqual(new Set(["broken"]))
    expect(levels("data directory")).toEqual(["warning"])
    expect(text("settings")).toContain("INJECTION_GUARD_MODE='maybe'")
    expect(text("settings")).toContain("REQUIRE_API_KEY='maybe'")
    expect(report.findings.filter((finding) => finding.level === "broken" && finding.mend === null)).toEqual([])
    expect(JSON.stringify(report)).not.toContain("hush-hush")
  })

  it("knows a server's URL by its scheme, and shows none that is wrong", async () => {
    const { code, levels, report, text } = await doctor(["--port", "0", "--data-dir", path.join(emptyDirectory(), "data")], {
      DATABASE_URL: "mysql://me:hush-hush@127.0.0.1/db", REDIS_URL: "hush-hush"
    })
    expect(code).toBe(1)
    expect(levels("settings")).toEqual(["broken", "broken"])
    for (const name of ["DATABASE_URL", "REDIS_URL"]) expect(text("settings")).toContain(name)
    expect(JSON.stringify(report)).not.toContain("hush")
  })

  it("warns of a database that is not complete, and leaves it where it is", async () => {
    const dataDir = path.join(emptyDirectory(), "data")
    fs.mkdirSync(path.join(dataDir, "pglite"), { recursive: true, mode: 0o700 })
    fs.writeFileSync(path.join(dataDir, "pglite", "PG_VERSION"), "17\n")
    const { levels, text } = await doctor(["--port", "0", "--data-dir", dataDir])
    expect(levels("database")).toEqual(["warning"])
    expect(text("database")).toContain("moves it aside")
    expect(fs.readdirSync(path.join(dataDir, "pglite"))).toEqual(["PG_VERSION"])
  })

  it("tells what of the data directory cannot be read, and goes on", async () => {
    const dataDir = path.join(emptyDirectory(), "data")
    const segment = path.join(dataDir, "journal", "node-0.0123456789ab-00000001.log")
    fs.mkdirSync(segment, { recursive: true, mode: 0o700 })
    const { code, levels, text } = await doctor(["--port", "0", "--data-dir", dataDir])
    expect(code).toBe(1)
    expect(levels("journal")).toEqual(["broken"])
    expect(text("journal")).toContain(segment)
    expect(levels("exposure")).toEqual(["ok"])
  })

  it("looks at the files that variables name", async () => {
    const directory = emptyDirectory()
    const [junk, config] = [path.join(directory, "junk.pem"), path.join(directory, "gateway.yaml")]
    fs.writeFileSync(junk, "junk")
    fs.writeFileSync(config, "providers:\n  lab: { provider: lab, apiKey: \"${LAB_KEY}\" }\n")
    const where = ["--port", "0", "--data-dir", path.join(directory, "data")]
    const wrong = await doctor(where, { GATEWAY_TLS_CERT: junk, GATEWAY_TLS_KEY: junk, GATEWAY_CONFIG: config, GATEWAY_FILES_DIR: "/proc/nowhere/files" })
    expect(wrong.code).toBe(1)
    for (const [check, part] of [["tls", junk], ["config file", "LAB_KEY"], ["files", "/proc/nowhere/files"]] as const) {
      expect([check, ...wrong.levels(check)]).toEqual([check, "broken"])
      expect(wrong.text(check)).toContain(part)
    }
    const absent = await doctor(where, { GATEWAY_CONFIG: path.join(directory, "absent.yaml"), GATEWAY_TLS_CERT: "/absent.pem", GATEWAY_TLS_KEY: junk })
    expect([...absent.levels("config file"), ...absent.levels("tls")]).toEqual(["broken", "broken"])
    const right = await doctor(where, { GATEWAY_CONFIG: config, LAB_KEY: "key-of-the-lab", GATEWAY_FILES_DIR: path.join(directory, "files") })
    expect([right.code, ...right.levels("config file"), ...right.levels("files")]).toEqual([0, "ok", "ok"])
    expect(fs.existsSync(path.join(directory, "files"))).toBe(false)
  })

  it("sees a data directory that no start could make", async () => {
    const file = path.join(emptyDirectory(), "file")
    fs.writeFileSync(file, "")
    for (const dataDir of [file, path.join(file, "data"), "/proc/nowhere/data"]) {
      const { code, levels } = await doctor(["--port", "0", "--data-dir", dataDir])
      expect([dataDir, code, ...levels("data directory")]).toEqual([dataDir, 1, "broken"])
    }
  })

  it("warns of a public address without required keys", async () => {
    const where = ["--port", "0", "--host", "0.0.0.0", "--data-dir", path.join(emptyDirectory(), "data")]
    const open = await doctor(where)
    expect(open.code).toBe(0)
    expect(open.levels("exposure")).toEqual(["warning"])
    expect((await doctor(where, { REQUIRE_API_KEY: "On" })).levels("exposure")).toEqual(["ok"])
  })

  it("names variables that look like slips of known ones", async () => {
    const { code, report, text } = await doctor(["--port", "0", "--data-dir", path.join(emptyDirectory(), "data")], {
      GATEWAY_MAX_ATTEMPT: "3", REQUIRE_APIKEY: "true"
    })
    expect(code).toBe(0)
    expect(text("settings")).toContain("did you mean GATEWAY_MAX_ATTEMPTS?")
    expect(text("settings")).toContain("did you mean REQUIRE_API_KEY?")
    expect(report.findings.filter(({ level }) => level === "warning").map(({ mend }) => mend)).toEqual([
      "Rename GATEWAY_MAX_ATTEMPT to GATEWAY_MAX_ATTEMPTS.", "Rename REQUIRE_APIKEY to REQUIRE_API_KEY."
    ])
  })

  it("takes no variable of the configuration file for a slip", async () => {
    const directory = emptyDirectory()
    const config = path.join(directory, "gateway.yaml")
    fs.writeFileSync(config, "providers:\n  main: { provider: openai, apiKey: \"${MAIN_API_KEY}\" }\n  lab: { provider: groq, apiKey: \"${GATEWAY_LAB_KEY:-none-yet}\" }\n")
    const { report } = await doctor(["--port", "0", "--data-dir", path.join(directory, "data")], {
      GATEWAY_CONFIG: config, MAIN_API_KEY: "sk-of-main", GATEWAY_LAB_KEY: "key-of-the-lab", GATEWAY_LAB_KEYS: "a slip"
    })
    expect(report.findings.flatMap(({ check, level, text }) => check === "settings" && level === "warning" ? [text] : [])).toEqual([expect.stringContaining("GATEWAY_LAB_KEYS is set")])
  })

  it("knows the port's workers as parts of the running gateway", async () => {
    const port = await freePort()
    const worker = `require("node:net").createServer().listen(${port}, "127.0.0.1", () => console.log("listens"))`
    const supervisor = new Command(process.execPath, ["-e",
      `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(worker)}], { stdio: "inherit" })`], {})
    await supervisor.said("listens")
    const settings = Settings.decode({ HOST: "127.0.0.1", PORT: String(port) })
    if (Result.isFailure(settings)) throw settings.failure
    const loaded = { ...settings.success, environment: {} }
    try {
      expect(await Network.port(loaded, { pid: supervisor.pid, url: null })).toMatchObject({ level: "note", text: expect.stringContaining("workers of process") })
      expect(await Network.port(loaded, { pid: process.pid, url: null })).toMatchObject({ level: "broken" })
    } finally {
      const owner = listenerOn(port)
      if (owner !== null) process.kill(owner.pid)
      await supervisor.ended
    }
  })

  it("knows which Node fits", () => {
    expect(Machine.nodeVersion("22.19.0").level).toBe("ok")
    for (const version of ["18.20.4", "20.20.2", "22.18.0", "24.0.0"]) expect(Machine.nodeVersion(version).level).toBe("broken")
  })
})
