/** A gateway whose records a file declares: applied at the start and at SIGHUP, read-only through the API, exported and applied elsewhere. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Outcome, Report } from "#src/features/configFile/ports/ConfigFile.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { type Sim, startSim } from "#test/support/sim.ts"

type Fields = Readonly<Record<string, unknown>>
interface Exported {
  readonly yaml: string
  readonly variables: ReadonlyArray<{ readonly name: string; readonly path: string }>
  readonly leftOut: ReadonlyArray<Fields>
}

const TEAM_KEY = "sk-a-key-that-a-team-has-already"
const directory = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-config-file-"))
const file = path.join(directory, "gateway.yaml")

let sim: Sim
let gateway: InProcess

const whole = () => `
nodes:
  lab:
    type: openai-compatible
    apiType: chat
    baseUrl: ${sim.url}/v1
    customHeaders:
      x-team: blue
providers:
  lab-main:
    provider: lab
    apiKey: \${LAB_KEY}
    priority: 3
    maxConcurrent: 50
  lab-spare:
    provider: lab
    apiKey: \${LAB_SPARE_KEY:-sk-lab-spare}
combos:
  outer:
    models: [{ kind: combo-ref, comboName: inner }, lab/echo]
  inner:
    strategy: weighted
    models:
      - { model: lab/tokens, weight: 70, connection: lab-main }
      - { model: lab/echo, weight: 30 }
keys:
  team:
    key: \${TEAM_KEY}
    allowedModels: [inner, outer]
    dailyUsageLimitUsd: 5
    usageLimitEnabled: true
    preferredConnections: [lab-main]
flags:
  ALLOW_API_KEY_REVEAL: true
webhooks:
  operators:
    url: https://93.184.216.34/gateway
    enabled: false
    secret: \${HOOK_SECRET}
    events: [request.failed]
`

const write = (text: string): void => fs.writeFileSync(file, text)
const environment = { GATEWAY_CONFIG: file, LAB_KEY: "sk-lab-0000000001", TEAM_KEY, HOOK_SECRET: "whsec_of_operators", OPENAI_API_KEY: "sk-openai-of-the-environment", LOG_LEVEL: "info" }

const call = <A = Fields>(method: string, at: string, body?: Fields) => gateway.operator.call<A>(method, at, body)
const refused = async (method: string, at: string, body?: Fields) => {
  const reply = await gateway.operator.raw(method, at, body)
  return [reply.status, (JSON.parse(reply.text) as { error: { code: string } }).error.code]
}
const report = async (): Promise<Report> => (await call<{ last: Report }>("GET", "/api/config-file")).last
const outcomes = async (): Promise<ReadonlyArray<readonly [string, string, Outcome["action"]]>> => (await report()).entries.map(({ action, kind, name }) => [kind, name, action])

/** Changes the file, sends the signal, and waits until it is read. */
const hangUp = async (text: string): Promise<Report> => {
  const before = (await report()).at
  write(text)
  process.emit("SIGHUP")
  return eventually(report, ({ at }) => at !== before, "the next report")
}
const ids = async (): Promise<Fields> => {
  const { connections } = await call<{ connections: ReadonlyArray<{ name: string; id: string }> }>("GET", "/api/providers")
  const { combos } = await call<{ combos: ReadonlyArray<{ name: string; id: string }> }>("GET", "/api/combos")
  const { keys } = await call<{ keys: ReadonlyArray<{ name: string; id: string }> }>("GET", "/api/keys")
  return Object.fromEntries([...connections, ...combos, ...keys].map(({ id, name }) => [name, id]))
}

describe("a gateway with a configuration file", () => {
  beforeAll(async () => {
    sim = await startSim()
    write(whole())
    gateway = await inProcess({ environment })
  }, 300_000)
  afterAll(async () => {
    await gateway?.close()
    await sim?.stop()
    fs.rmSync(directory, { recursive: true, force: true })
  })

  it("makes what the file declares before it serves, in the order of what refers to what", async () => {
    expect((await report()).entries.filter(({ message }) => message !== null)).toEqual([])
    expect(await outcomes()).toEqual([
      ["flag", "ALLOW_API_KEY_REVEAL", "adopted"], ["node", "lab", "created"], ["connection", "lab-main", "created"], ["connection", "lab-spare", "created"],
      ["combo", "inner", "created"], ["combo", "outer", "created"], ["key", "team", "created"], ["webhook", "operators", "created"]
    ])
    const reply = await Http.send(gateway.url, {
      path: "/v1/chat/completions", headers: { authorization: `Bearer ${TEAM_KEY}` }, body: { model: "outer", messages: [{ role: "user", content: "Hello" }] }
    })
    expect(reply.status).toBe(200)
    expect((await sim.ended({ path: "/v1/chat/completions" })).at(-1)?.headers["x-team"]).toBe("blue")
  })

  it("changes nothing at the next start, and audits each change in the name of the file", async () => {
    const before = await ids()
    await gateway.restart()
    await gateway.operator.login()
    expect(new Set((await outcomes()).map(([, , action]) => action))).toEqual(new Set(["unchanged"]))
    expect(await ids()).toEqual(before)
    const entries = await call<ReadonlyArray<{ actor: string; action: string }>>("GET", "/api/compliance/audit-log?limit=100")
    expect(entries.filter(({ actor }) => actor === `file:${file}`).map(({ action }) => action)).toEqual(expect.arrayContaining(["combo.created", "apikey.created", "flag.set", "webhook.created"]))
  })

  it("says who owns each record, and refuses every change of what the file owns, naming the file", async () => {
    const known = await ids()
    const { hook, node } = {
      hook: (await call<{ webhooks: ReadonlyArray<{ id: string; owner: string }> }>("GET", "/api/webhooks")).webhooks[0],
      node: (await call<{ nodes: ReadonlyArray<{ id: string; owner: string }> }>("GET", "/api/provider-nodes")).nodes[0]
    }
    const own = await call<{ id: string; owner: string }>("POST", "/api/combos", { name: "of-an-operator", models: ["lab/echo"] })
    expect([own.owner, hook?.owner, node?.owner]).toEqual(["database", "file", "file"])
    const owners = {
      combo: (await call<{ owner: string }>("GET", `/api/combos/${String(known["inner"])}`)).owner,
      key: (await call<{ owner: string }>("GET", `/api/keys/${String(known["team"])}`)).owner,
      connection: (await call<{ connection: { owner: string } }>("GET", `/api/providers/${String(known["lab-main"])}`)).connection.owner,
      flag: (await call<{ flags: ReadonlyArray<{ key: string; owner: string }> }>("GET", "/api/settings/feature-flags")).flags.find(({ key }) => key === "ALLOW_API_KEY_REVEAL")?.owner
    }
    expect(owners).toEqual({ combo: "file", key: "file", connection: "file", flag: "file" })
    const changes: ReadonlyArray<readonly [string, string, Fields?]> = [
      ["PUT", `/api/combos/${String(known["inner"])}`, { description: "mine" }], ["DELETE", `/api/combos/${String(known["inner"])}`],
      ["PATCH", `/api/keys/${String(known["team"])}`, { noLog: true }], ["DELETE", `/api/keys/${String(known["team"])}`],
      ["POST", `/api/keys/${String(known["team"])}/regenerate`], ["PUT", `/api/keys/${String(known["team"])}/usage-limits`, { dailyUsageLimitUsd: 900 }],
      ["PUT", `/api/providers/${String(known["lab-main"])}`, { priority: 1 }], ["PATCH", "/api/providers", { ids: [known["lab-main"]], isActive: false }],
      ["DELETE", `/api/providers/${String(known["lab-main"])}`],
      ["PUT", `/api/providers/${String(known["lab-main"])}/param-filters`, { block: ["seed"] }],
      ["PUT", `/api/providers/${String(known["lab-main"])}/interception-rules`, {}],
      ["POST", "/api/rate-limits", { connectionId: known["lab-main"], enabled: true }],
      ["POST", "/api/admin/concurrency", { limits: [{ scope: "connection", id: known["lab-main"], max: 3 }] }],
      ["PUT", `/api/provider-nodes/${node?.id ?? ""}`, { name: "mine" }], ["DELETE", `/api/provider-nodes/${node?.id ?? ""}`],
      ["PUT", `/api/webhooks/${hook?.id ?? ""}`, { enabled: false }], ["DELETE", `/api/webhooks/${hook?.id ?? ""}`],
      ["PUT", "/api/settings/feature-flags", { key: "ALLOW_API_KEY_REVEAL", value: "false" }], ["PUT", "/api/settings/feature-flags", { key: "ALLOW_API_KEY_REVEAL" }]
    ]
    for (const [method, at, body] of changes) expect([method, at, ...await refused(method, at, body)]).toEqual([method, at, 409, "owned_by_file"])
    expect((await gateway.operator.raw("DELETE", `/api/combos/${String(known["inner"])}`)).text).toContain(file)
    // Removing every override leaves the file's.
    expect(await call("DELETE", "/api/settings/feature-flags")).toMatchObject({ cleared: 0 })
    expect(await ids()).toMatchObject(known)
  })

  it("SIGHUP: a field that goes returns to its default, a changed key counts, what is not declared any more is deleted", async () => {
    const before = await ids()
    const { entries } = await hangUp(whole()
      .replace("    priority: 3\n", "").replace("    dailyUsageLimitUsd: 5\n    usageLimitEnabled: true\n", "")
      .replace("\n  lab-spare:\n    provider: lab\n    apiKey: ${LAB_SPARE_KEY:-sk-lab-spare}", "").replace("${TEAM_KEY}", "sk-the-next-key-of-the-team")
      .replace(/ {2}outer:\n.*\n/, "").replace("allowedModels: [inner, outer]", "allowedModels: [inner]"))
    expect(entries.filter(({ action }) => action !== "unchanged").map(({ action, kind, name }) => [kind, name, action])).toEqual([
      ["connection", "lab-main", "changed"], ["key", "team", "changed"], ["combo", "outer", "removed"], ["connection", "lab-spare", "removed"]
    ])
    const { connection } = await call<{ connection: Fields }>("GET", `/api/providers/${String(before["lab-main"])}`)
    expect(connection).toMatchObject({ priority: 1, maxConcurrent: 50 })
    const key = await call("GET", `/api/keys/${String(before["team"])}`)
    expect(key).toMatchObject({ dailyUsageLimitUsd: null, usageLimitEnabled: false, allowedModels: ["inner"], modelAccessMode: "restricted", scopes: ["self:usage"] })
    const asked = (bearer: string) => Http.send(gateway.url, {
      path: "/v1/chat/completions", headers: { authorization: `Bearer ${bearer}` }, body: { model: "inner", messages: [{ role: "user", content: "Hello" }] }
    })
    expect([(await asked(TEAM_KEY)).status, (await asked("sk-the-next-key-of-the-team")).status]).toEqual([401, 200])
    const after = await ids()
    expect([after["lab-spare"], after["outer"], after["of-an-operator"]]).toEqual([undefined, undefined, before["of-an-operator"]])
  })

  it("an entry that loses its fields is like one that never had them, of every kind", async () => {
    const full = `nodes:
  a: { type: openai-compatible, apiType: chat, baseUrl: "${sim.url}/v1", name: Full, chatPath: /chat, modelsPath: /models, customHeaders: { x-one: two } }
  b: { type: openai-compatible, apiType: chat, baseUrl: "${sim.url}/v1" }
providers:
  conn-a: { provider: a, apiKey: sk-a, priority: 7, defaultModel: echo, isActive: false, maxConcurrent: 3, rateLimitProtection: true, healthCheckInterval: 5, quotaVisible: false, rateLimitOverrides: { rpm: 4 }, quotaWindowThresholds: { weekly: 50 }, providerSpecificData: { weight: 3 } }
  conn-b: { provider: a, apiKey: sk-b }
combos:
  combo-a: { description: Full, models: [{ model: a/echo, weight: 5, label: one }], strategy: weighted, config: { maxRetries: 1 }, system_message: Be brief, tool_filter_regex: "^x", context_length: 8000, isActive: false, isHidden: true, allowedProviders: [a] }
  combo-b: { models: [a/echo] }
keys:
  key-a: { key: sk-of-the-full-entry-001, noLog: true, allowedModels: [a/echo], blockedModels: [b/echo], scopes: [manage], maxSessions: 3, rateLimits: [{ limit: 1, window: 60 }], expiresAt: "2099-01-01", ipAllowlist: [127.0.0.1], throttleDelayMs: 1, usageLimitEnabled: true, weeklyUsageLimitUsd: 9, disconnectPolicy: drain-for-usage, cacheDefaultMode: bypass, accessSchedule: { enabled: true, from: "00:00", until: "23:59", days: [1], tz: UTC } }
  key-b: { key: sk-of-the-other-entry-01 }
webhooks:
  hook-a: { url: "https://93.184.216.34/a", secret: whsec_a, events: [request.failed], description: Full, enabled: false, metadata: { team: blue } }
  hook-b: { url: "https://93.184.216.34/a", secret: whsec_a }
`
    const bare = `nodes:
  a: { type: openai-compatible, apiType: chat, baseUrl: "${sim.url}/v1" }
  b: { type: openai-compatible, apiType: chat, baseUrl: "${sim.url}/v1" }
providers:
  conn-a: { provider: a, apiKey: sk-a }
  conn-b: { provider: a, apiKey: sk-b }
combos:
  combo-a: { models: [a/echo] }
  combo-b: { models: [a/echo] }
keys:
  key-a: { key: sk-of-the-full-entry-001 }
  key-b: { key: sk-of-the-other-entry-01 }
webhooks:
  hook-a: { url: "https://93.184.216.34/a", secret: whsec_a }
  hook-b: { url: "https://93.184.216.34/a", secret: whsec_a }
`
    const made = await hangUp(full)
    expect(made.entries.filter(({ message }) => message !== null)).toEqual([])
    const changed = await hangUp(bare)
    expect(changed.entries.filter(({ action }) => action !== "unchanged").map(({ action, name }) => [name, action])).toEqual(["a", "conn-a", "combo-a", "key-a", "hook-a"].map((name) => [name, "changed"]))
    const lists = [["/api/provider-nodes", "nodes"], ["/api/providers", "connections"], ["/api/combos", "combos"], ["/api/keys", "keys"], ["/api/webhooks", "webhooks"]] as const
    const own = new Set(["id", "name", "prefix", "createdAt", "updatedAt", "created_at", "key", "keyPrefix", "sortOrder", "lastTested", "testStatus"])
    for (const [at, member] of lists) {
      const records = (await call<Record<string, ReadonlyArray<Fields>>>("GET", at))[member] ?? []
      const compared = records.filter(({ name, owner, prefix }) => owner === "file" && (member !== "nodes" || prefix === "a" || prefix === "b") && name !== "of-an-operator")
        .map((record) => JSON.parse(JSON.stringify(record, (field, value: unknown) => own.has(field) ? undefined : value)) as unknown)
      expect([member, compared.length]).toEqual([member, 2])
      expect(compared[0]).toEqual(compared[1])
    }
    await hangUp(whole())
  })

  it("a file with faults changes nothing, and every fault is named with its place", async () => {
    const before = await ids()
    const { entries, error } = await hangUp("combos:\n  inner:\n    models: [lab/echo]\n    stategy: weighted\nkeys:\n  short: { key: abc }\nproviders:\n  p: { provider: lab, apiKey: \"${NOWHERE}\" }\n")
    expect(entries).toEqual([])
    expect(error).toContain("providers.p.apiKey: The variable NOWHERE is not set")
    const unknown = await hangUp("combos:\n  inner:\n    models: [lab/echo]\n    stategy: weighted\nkeys:\n  short: { key: abc }\n")
    expect(unknown.error).toContain("combos.inner.stategy: Unknown field")
    expect(unknown.error).toContain("keys.short.key: Expected 20 to 200 visible ASCII characters")
    const broken = await hangUp("combos:\n  inner: [\n")
    expect(broken.error).toMatch(/\n {2}\d+:\d+: /)
    expect(await ids()).toEqual(before)
    expect(gateway.output()).toContain("Nothing of the configuration file")
  })

  it("an entry that the gateway refuses stands as it was, says why, and stops no other", async () => {
    const { entries } = await hangUp(whole().replace("{ model: lab/tokens, weight: 70, connection: lab-main }", "{ model: lab/tokens, connection: nobody }").replace("  inner:\n", "  third: { models: [lab/echo] }\n  inner:\n"))
    const inner = entries.find(({ name }) => name === "inner")
    expect(inner).toMatchObject({ action: "refused" })
    expect(inner?.message).toContain("connectionId")
    expect(entries.find(({ name }) => name === "third")).toMatchObject({ action: "created", message: null })
    const { models } = await call<{ models: ReadonlyArray<{ weight: number }> }>("GET", `/api/combos/${String((await ids())["inner"])}`)
    expect(models.map(({ weight }) => weight)).toEqual([70, 30])
    expect(gateway.output()).toContain("the combo 'inner' was refused")
  })

  it("takes over what an operator made under the same name, and a provider's key of the environment; another provider makes a connection anew", async () => {
    const before = await ids()
    const more = (provider: string) => whole()
      .replace("providers:\n", `providers:\n  moving: { provider: ${provider}, apiKey: sk-of-one-or-the-other }\n  from-the-environment: { provider: openai, apiKey: "\${OPENAI_API_KEY}" }\n`)
      .replace("combos:\n", "combos:\n  of-an-operator: { models: [lab/echo], description: taken over }\n")
    const made = await hangUp(more("groq"))
    expect(made.entries.filter(({ action }) => action !== "unchanged").map(({ action, name }) => [name, action])).toEqual(expect.arrayContaining([
      ["moving", "created"], ["from-the-environment", "adopted"], ["of-an-operator", "adopted"]
    ]))
    expect((await ids())["of-an-operator"]).toBe(before["of-an-operator"])
    const connections = async () => (await call<{ connections: ReadonlyArray<{ id: string; name: string; provider: string }> }>("GET", "/api/providers")).connections
    expect((await connections()).filter(({ provider }) => provider === "openai")).toHaveLength(1)
    const [old] = (await connections()).filter(({ name }) => name === "moving")
    const moved = await hangUp(more("mistral"))
    expect(moved.entries.filter(({ action }) => action !== "unchanged").map(({ action, name }) => [name, action])).toEqual([["moving", "replaced"]])
    const stands = (await connections()).filter(({ name }) => name === "moving")
    expect(stands.map(({ provider }) => provider)).toEqual(["mistral"])
    expect(stands[0]?.id).not.toBe(old?.id)
    // A provider that is not known: the old connection stands.
    const refusedMove = await hangUp(more("nowhere"))
    expect(refusedMove.entries.filter(({ action }) => action !== "unchanged").map(({ action, name }) => [name, action])).toEqual([["moving", "refused"]])
    expect((await connections()).filter(({ name }) => name === "moving")).toEqual(stands)
  })

  it("what it exports another gateway applies, and exports again the same", async () => {
    await hangUp(whole())
    await call("POST", "/api/keys", { name: "of an operator", rateLimits: [{ limit: 10, window: 60 }] })
    const exported = await call<Exported>("GET", "/api/config-file/export")
    for (const secret of [TEAM_KEY, "sk-lab-0000000001", "sk-lab-spare", "whsec_of_operators"]) expect(exported.yaml).not.toContain(secret)
    expect(exported.variables.map(({ name }) => name)).toEqual(["LAB_MAIN_API_KEY", "LAB_SPARE_API_KEY", "OF_AN_OPERATOR_KEY", "TEAM_KEY", "CUSTOM_SECRET"])
    const copy = path.join(directory, "copy.yaml")
    fs.writeFileSync(copy, exported.yaml)
    const values = Object.fromEntries(exported.variables.map(({ name }) => [name, `sk-value-of-${name.toLowerCase()}`]))
    const other = await inProcess({ environment: { ...values, GATEWAY_CONFIG: copy } })
    try {
      const { last } = await other.operator.call<{ last: Report }>("GET", "/api/config-file")
      expect(last.entries.filter(({ message }) => message !== null)).toEqual([])
      expect((await other.operator.call<Exported>("GET", "/api/config-file/export")).yaml).toBe(exported.yaml)
    } finally {
      await other.close()
    }
  }, 180_000)

  it("names a variable of the environment among those to set, and gives no other secret its name", async () => {
    const own = await inProcess({ environment: { GROQ_API_KEY: "gsk-of-the-environment" } })
    try {
      await own.operator.createConnection({ provider: "groq", name: "a groq", apiKey: "gsk-of-an-operator" })
      await own.operator.createConnection({ provider: "groq", name: "groq", apiKey: "gsk-of-another-operator" })
      await own.operator.createConnection({ provider: "groq", name: "mistral", apiKey: "gsk-of-a-third-operator" })
      await own.operator.call("POST", "/api/keys", { name: "require api" })
      const { variables, yaml } = await own.operator.call<Exported>("GET", "/api/config-file/export")
      const paths = new Map(variables.map(({ name, path }) => [name, path]))
      expect(variables.length).toBe(paths.size)
      expect([paths.get("A_GROQ_API_KEY"), paths.get("GROQ_API_KEY_2")]).toEqual(["a groq.api_key", "groq.api_key"])
      expect(paths.has("GROQ_API_KEY")).toBe(true)
      for (const name of paths.keys()) expect(yaml.split(`: \${${name}}`).length).toBe(2)
      // A start with these variables would make a connection to a vendor, or read a flag.
      expect([paths.get("MISTRAL_API_KEY_2"), paths.get("REQUIRE_API_KEY_2")]).toEqual(["mistral.api_key", "require api.key"])
    } finally {
      await own.close()
    }
  })
})
