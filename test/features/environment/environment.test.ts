/** The installation's file of variables gets back what the gateway runs with, and nothing that it says is lost. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { parseEnv } from "node:util"
import { assert, describe as describeProperties, it as property } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Repair from "#src/features/environment/repair.ts"
import { type InProcess, inProcess } from "#test/support/gateway.ts"

interface Repaired {
  readonly repaired: ReadonlyArray<string>
  readonly backupPath: string | null
}

const SECRET = "a-master-key-of-this-test"
const KEY = "sk-from-the-variable"
let directory = ""
let file = ""
let gateway: InProcess
const given: Record<string, string> = {}
const repair = (provider = "openai") => gateway.operator.call<Repaired>("POST", "/api/system/env/repair", { provider })
const refused = async (body: Record<string, unknown>) => {
  const reply = await gateway.operator.raw("POST", "/api/system/env/repair", body)
  return [reply.status, (JSON.parse(reply.text) as { error: { code: string } }).error.code]
}
const write = (text: string, mode = 0o644) => {
  fs.writeFileSync(file, text)
  fs.chmodSync(file, mode)
}
const text = () => fs.readFileSync(file, "utf8")
const backups = () => fs.readdirSync(directory).filter((name) => name.startsWith(".env.backup-"))

beforeAll(async () => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-env-"))
  file = path.join(directory, ".env")
  gateway = await inProcess({ environment: { GATEWAY_SECRET: SECRET, OPENAI_API_KEY: KEY }, envFile: { path: file, process: given } })
})
afterAll(async () => {
  await gateway.close()
  fs.rmSync(directory, { recursive: true })
})

describe("the repair of the .env file", () => {
  it("makes a file that is gone, for its owner alone", async () => {
    expect(await repair()).toEqual({ success: true, repaired: ["GATEWAY_SECRET", "OPENAI_API_KEY"], backupPath: null })
    expect(parseEnv(text())).toEqual({ GATEWAY_SECRET: SECRET, OPENAI_API_KEY: KEY })
    expect(fs.statSync(file).mode & 0o777).toBe(0o600)
    expect(await repair()).toEqual({ success: true, repaired: [], backupPath: null })
    expect(backups()).toEqual([])
  })

  it("fills what is empty, keeps the rest with its comments, and leaves a copy", async () => {
    const before = "# Ours\nexport OPENAI_API_KEY=\nPORT=20128 # the usual\n"
    write(before)
    const { backupPath, repaired } = await repair()
    expect(repaired).toEqual(["GATEWAY_SECRET", "OPENAI_API_KEY"])
    expect(text()).toBe(`# Ours\nexport OPENAI_API_KEY=${KEY}\nPORT=20128 # the usual\nGATEWAY_SECRET=${SECRET}\n`)
    expect([fs.readFileSync(backupPath ?? "", "utf8"), path.dirname(backupPath ?? "")]).toEqual([before, directory])
    expect([file, backupPath ?? ""].map((one) => fs.statSync(one).mode & 0o777)).toEqual([0o600, 0o600])
  })

  it("never changes a value, neither of the file nor of the process", async () => {
    write("GATEWAY_SECRET=another-one-of-the-operator\n")
    given["OPENAI_API_KEY"] = "sk-of-the-process"
    const kept = backups().length
    expect(await repair()).toEqual({ success: true, repaired: [], backupPath: null })
    expect(text()).toBe("GATEWAY_SECRET=another-one-of-the-operator\n")
    expect(backups()).toHaveLength(kept)
    delete given["OPENAI_API_KEY"]
  })

  it("puts back the keys of the provider that is named, and knows its name", async () => {
    write("")
    expect((await repair("anthropic")).repaired).toEqual(["GATEWAY_SECRET"])
    expect(await refused({ provider: "nowhere" })).toEqual([400, "bad_request"])
    expect(await refused({})).toEqual([400, "bad_request"])
  })

  it("says why a file cannot be written, and leaves it", async () => {
    fs.rmSync(file)
    fs.mkdirSync(file)
    expect(await refused({ provider: "openai" })).toEqual([422, "unprocessable"])
    fs.rmdirSync(file)
  })

  it("is in the audit log by names alone", async () => {
    write("")
    await repair()
    const { text: log } = await gateway.operator.raw("GET", "/api/compliance/audit-log?limit=50")
    expect(log).toContain("environment.repaired")
    expect([log.includes(SECRET), log.includes(KEY)]).toEqual([false, false])
  })
})

const Value = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(40))
const Line = Schema.Literals(["", "# a note", "A=1", "A = 'two words' # said", "export B=\"x\\ny\"", "NAME=", "export NAME = ", "C=`three\nlines`", "broken", "D='open", "NAME=\r"])

describeProperties("a text with a variable", () => {
  property.prop("reads as it did but for the variable, or is refused", [Schema.Array(Line), Value], ([lines, value]) => {
    const before = lines.join("\n")
    const after = Repair.withVariable(before, "NAME", value)
    if (after === null) return
    const { "export NAME": _empty, ...others } = parseEnv(before)
    assert.deepStrictEqual({ ...parseEnv(after) }, { ...others, NAME: value })
  }, { arbitrary: { runs: 300 } })

  property("takes keys as vendors write them, beside any sound line", () => {
    for (const value of ["sk-proj-AbC_123-x", "a b#c$d", "ya29.a0=/+", "with'quote", "with\"both'"]) assert.isNotNull(Repair.withVariable("A=1\n", "NAME", value), value)
    for (const value of ["two\nlines", "'\"`"]) assert.isNull(Repair.withVariable("A=1\n", "NAME", value), value)
  })
})
