/** Sync tokens, the bundle, following another gateway, and what clients beside a gateway may ask. */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Configuration } from "#actors/ports/Configuration.ts"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import * as Bundle from "#src/features/sync/bundle.ts"
import * as Http from "#test/support/http.ts"
import { CREDENTIAL, type Lab, startLab } from "#test/support/lab.ts"
import * as Records from "#test/suites/records.ts"

type Fields = Readonly<Record<string, unknown>>
interface Minted {
  readonly token: string
  readonly syncToken: { readonly id: string } & Fields
}
interface Status extends Fields {
  readonly refused: ReadonlyArray<Fields>
}

const TOKENS = "/api/sync/tokens"
const BUNDLE = "/api/sync/bundle"
const CLOUD = "/api/sync/cloud"
const MAIN_KEY = "sk-main-of-the-follower-0001"

let lab: Lab
/** The gateway that is followed: it answers what the test says. */
let other: Server
let otherUrl = ""
let reply: { readonly status: number; readonly body: string; readonly headers?: Readonly<Record<string, string>> } = { status: 404, body: "" }
const heard: Array<Pick<IncomingHttpHeaders, "authorization" | "if-none-match"> & { readonly url: string | undefined }> = []

beforeAll(async () => {
  other = createServer((request, response) => {
    heard.push({ url: request.url, authorization: request.headers.authorization, "if-none-match": request.headers["if-none-match"] })
    response.writeHead(reply.status, reply.headers ?? {}).end(reply.body)
  })
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve))
  otherUrl = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  lab = await startLab({ environment: { GATEWAY_SYNC_MAIN_API_KEY: MAIN_KEY, GATEWAY_SYNC_TEAM_KEY: "sk-a-key-that-a-team-has-already" } })
}, 120_000)
afterAll(async () => {
  await lab?.close()
  other?.close()
})

const call = <A = Fields>(method: string, path: string, body?: unknown) => lab.gateway.operator.call<A>(method, path, body)
const refused = async (method: string, path: string, body?: unknown) => {
  const answer = await lab.gateway.operator.raw(method, path, body)
  const { error } = JSON.parse(answer.text) as { error: { message: string; code: string; details?: ReadonlyArray<{ field: string }> } }
  return [answer.status, error.code, error.details?.[0]?.field ?? error.message]
}
const ask = (method: string, path: string, bearer: string | null, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
  Http.send(lab.gateway.url, { method, path, headers: { ...headers, ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }) }, ...(body === undefined ? {} : { body }) })
const mint = (name: string) => call<Minted>("POST", TOKENS, { name })
const audited = async (action: string) => (await call<ReadonlyArray<Fields>>("GET", `/api/compliance/audit-log?action=${action}`)).map(({ details, target }) => ({ target, details }))
/** The bundle of a gateway with these declarations. */
const declare = (config: Fields): string => {
  const { text, version } = Bundle.make({ config: config as never, leftOut: [], variables: [] })
  reply = { status: 200, body: text }
  return version
}
const statusOf = () => call<Status>("GET", CLOUD)
const named = async (path: string, list: string, field = "name") => ((await call<Record<string, ReadonlyArray<Fields>>>("GET", path))[list] ?? []).map((record) => record[field])

describe("a sync token", () => {
  it("is shown once, reads the bundle and nothing else, and ends when it is revoked", async () => {
    const { syncToken, token } = await mint("second site")
    expect(token).toMatch(/^gwa_sync_[\w-]{43}$/)
    expect(syncToken).toEqual({ id: syncToken.id, name: "second site", syncApiKeyId: null, revokedAt: null, lastUsedAt: null, createdAt: syncToken["createdAt"], updatedAt: syncToken["createdAt"] })
    const list = await lab.gateway.operator.raw("GET", TOKENS)
    expect(JSON.parse(list.text)).toEqual({ tokens: [syncToken] })

    expect((await ask("GET", BUNDLE, token)).status).toBe(200)
    for (const path of ["/api/providers", TOKENS, CLOUD, "/v1/models"]) expect([path, [401, 403].includes((await ask("GET", path, token)).status)]).toEqual([path, true])
    expect((await call<{ tokens: ReadonlyArray<Fields> }>("GET", TOKENS)).tokens[0]?.["lastUsedAt"]).toMatch(/^\d{4}-/)
    // No other credential reads it: neither a session, nor a key with all rights, nor what only looks like a token.
    const key = await lab.gateway.operator.createKey("all", { scopes: ["admin"] })
    expect((await lab.gateway.operator.raw("GET", BUNDLE)).status).toBe(401)
    for (const bearer of [null, key.key, `gwa_sync_${"A".repeat(43)}`, `${token}x`, ""]) expect((await ask("GET", BUNDLE, bearer)).status).toBe(401)

    expect(await call("DELETE", `${TOKENS}/${syncToken.id}`)).toEqual({ success: true })
    expect(await call("DELETE", `${TOKENS}/${syncToken.id}`)).toEqual({ success: true })
    expect((await ask("GET", BUNDLE, token)).status).toBe(401)
    expect((await call<{ tokens: ReadonlyArray<Fields> }>("GET", TOKENS)).tokens[0]?.["revokedAt"]).toMatch(/^\d{4}-/)
    expect(await refused("DELETE", `${TOKENS}/none`)).toEqual([404, "not_found", "Sync token not found"])
    expect(await audited("sync.token.created")).toEqual([{ target: syncToken.id, details: { name: "second site", syncApiKeyId: null } }])
    expect(await audited("sync.token.revoked")).toEqual([{ target: syncToken.id, details: {} }])
  })

  it("that a key made ends with the key's rights", async () => {
    const key = await lab.gateway.operator.createKey("issuer", { scopes: ["admin"] })
    const made = JSON.parse((await ask("POST", TOKENS, key.key, { name: "of a key" })).text) as Minted
    expect(made.syncToken["syncApiKeyId"]).toBe(key.id)
    expect((await ask("GET", BUNDLE, made.token)).status).toBe(200)
    await lab.gateway.operator.changeKey(key.id, { scopes: ["self:usage"] })
    expect((await ask("GET", BUNDLE, made.token)).status).toBe(401)
    await lab.gateway.operator.changeKey(key.id, { scopes: ["admin"] })
    expect((await ask("GET", BUNDLE, made.token)).status).toBe(200)
    await call("DELETE", `/api/keys/${key.id}`)
    expect((await ask("GET", BUNDLE, made.token)).status).toBe(401)
  })

  it("is made by scope admin only", async () => {
    const manager = await lab.gateway.operator.createKey("manager", { scopes: ["manage"] })
    expect((await ask("POST", TOKENS, manager.key, { name: "x" })).status).toBe(403)
    expect((await ask("GET", TOKENS, manager.key)).status).toBe(403)
    expect((await ask("POST", TOKENS, null, { name: "x" })).status).toBe(401)
  })
})

describe("the bundle", () => {
  it("is the same while the configuration is, holds no secret, and is 304 for its tag", async () => {
    const { operator } = lab.gateway
    const client = await operator.createKey("client of the bundle")
    const { token } = await mint("reader")
    const first = await ask("GET", BUNDLE, token)
    const bundle = JSON.parse(first.text) as { version: string; config: Record<string, Record<string, Fields>>; variables: ReadonlyArray<Fields>; leftOut: ReadonlyArray<Fields> }
    expect(first.headers["etag"]).toBe(`"${bundle.version}"`)
    expect(first.headers["x-config-version"]).toBe(bundle.version)
    expect(first.headers["cache-control"]).toBe("private, no-cache")
    expect(Bundle.make(bundle as never)).toEqual({ version: bundle.version, text: first.text })
    expect(Object.keys(bundle.config)).toEqual(["keys", "nodes", "providers"])
    expect(bundle.config["providers"]?.["connection"]).toEqual({ apiKey: "${CONNECTION_API_KEY}", provider: "lab" })
    expect(bundle.variables).toContainEqual({ name: "CONNECTION_API_KEY", path: "connection.api_key" })
    expect(bundle.leftOut).toContainEqual({ kind: "key", name: "all", why: "it manages a gateway" })
    expect(Object.keys(bundle.config["keys"] ?? {})).toEqual(["client of the bundle"])
    for (const secret of [CREDENTIAL, client.key, token, "sk-"]) expect(first.text).not.toContain(secret)

    // Use of a key is no configuration.
    await ask("GET", "/v1/models", client.key)
    expect((await ask("GET", BUNDLE, token)).text).toBe(first.text)
    const known = { "if-none-match": `W/"x", "${bundle.version}"` }
    const unchanged = await ask("GET", BUNDLE, token, undefined, known)
    expect([unchanged.status, unchanged.text, unchanged.headers["x-config-version"]]).toEqual([304, "", bundle.version])
    expect((await ask("GET", BUNDLE, null, undefined, known)).status).toBe(401)

    const { id } = await call<{ id: string }>("POST", "/api/combos", { name: "of-the-bundle", models: ["lab/echo"] })
    const changed = await ask("GET", BUNDLE, token, undefined, known)
    expect([changed.status, changed.headers["x-config-version"] === bundle.version]).toEqual([200, false])
    await call("DELETE", `/api/combos/${id}`)
    expect((await ask("GET", BUNDLE, token, undefined, known)).status).toBe(304)
    await call("DELETE", `/api/keys/${client.id}`)
  })
})

describe("following another gateway", () => {
  it("needs its address and a token, and takes no address that is none", async () => {
    expect(await refused("POST", CLOUD, { action: "enable", token: "t" })).toEqual([400, "cloud_url_missing", "Set the setting cloudUrl to the address of the gateway to follow"])
    expect(await refused("POST", CLOUD, { action: "sync" })).toEqual([409, "sync_disabled", "Synchronisation is off: enable it first"])
    for (const cloudUrl of ["ftp://x.test", "x.test", "http://me:you@x.test", "http://x.test?y=1"]) expect((await refused("PATCH", "/api/settings", { cloudUrl }))[0]).toBe(400)
    expect(await call("PATCH", "/api/settings", { cloudUrl: `${otherUrl}/` })).toMatchObject({ cloudUrl: `${otherUrl}/`, cloudConfigured: true })
    expect((await refused("POST", CLOUD, { action: "enable" })).slice(0, 2)).toEqual([400, "bad_request"])
    expect(await refused("POST", CLOUD, { action: "sync", token: "t" })).toEqual([400, "bad_request", "token"])
    expect(await statusOf()).toEqual({ enabled: false, connected: false, lastSync: null, cloudUrl: otherUrl, hasToken: false, version: null, lastError: null, refused: [] })
    expect(await call("POST", "/api/sync/initialize")).toMatchObject({ success: true, initialized: false })
    expect(heard).toEqual([])
  })

  it("a first synchronisation that fails switches nothing on, and says why", async () => {
    reply = { status: 401, body: JSON.stringify({ error: { message: "The sync token is not valid" } }) }
    expect(await refused("POST", CLOUD, { action: "enable", token: "canary-sync" })).toEqual([502, "upstream_error", `The gateway at ${otherUrl} answered 401: The sync token is not valid`])
    reply = { status: 200, body: "<html>" }
    expect(await refused("POST", CLOUD, { action: "enable", token: "canary-sync" })).toEqual([502, "upstream_error", `The gateway at ${otherUrl} answered no bundle that this release reads`])
    reply = { status: 200, body: `{"form":1,"version":"${"a".repeat(64)}","config":{"nodes":${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}},"variables":[],"leftOut":[]}` }
    expect((await refused("POST", CLOUD, { action: "enable", token: "canary-sync" })).slice(0, 2)).toEqual([502, "upstream_error"])
    reply = { status: 302, body: "", headers: { location: `${otherUrl}/elsewhere` } }
    expect((await refused("POST", CLOUD, { action: "enable", token: "canary-sync" }))[0]).toBe(502)
    declare({ combos: { bad: { strategy: "no such strategy" } } })
    expect((await refused("POST", CLOUD, { action: "enable", token: "canary-sync" })).slice(0, 2)).toEqual([422, "sync_refused"])
    expect(await statusOf()).toMatchObject({ enabled: false, connected: false, lastSync: null, hasToken: false })
    expect((await statusOf())["lastError"]).toContain("combos.bad.strategy")
    expect(heard).toEqual(Array.from({ length: 5 }, () => ({ url: BUNDLE, authorization: "Bearer canary-sync", "if-none-match": undefined })))
    heard.length = 0
  })

  it("makes what it declares, read-only here, and takes it back when it is declared no more", async () => {
    const declared = {
      nodes: { far: { type: "openai-compatible", apiType: "chat", baseUrl: `${lab.sim.url}/v1` } },
      providers: { main: { provider: "far", apiKey: "${MAIN_API_KEY}" }, spare: { provider: "far", apiKey: "${SPARE_API_KEY}" } },
      combos: { quick: { models: ["far/echo"] } },
      keys: { team: { key: "${TEAM_KEY}", allowedModels: ["quick"] }, root: { key: "${TEAM_KEY}", scopes: ["admin"] } },
      flags: { REQUIRE_API_KEY: false }
    }
    const version = declare(declared)
    const { status } = await call<{ status: Status }>("POST", CLOUD, { action: "enable", token: "canary-sync" })
    expect(status).toEqual({
      enabled: true, connected: true, lastSync: status["lastSync"], cloudUrl: otherUrl, hasToken: true, version, lastError: null,
      refused: [{ kind: "connection", name: "spare", message: "Set GATEWAY_SYNC_SPARE_API_KEY here" }, { kind: "key", name: "root", message: "A key that manages is not taken from another gateway" }]
    })
    const combo = (await call<{ combos: ReadonlyArray<{ id: string; name: string; owner: string }> }>("GET", "/api/combos")).combos.find(({ name }) => name === "quick")
    expect(combo?.owner).toBe("file")
    expect(await refused("DELETE", `/api/combos/${combo?.id}`)).toEqual([
      409, "owned_by_file", `The combo 'quick' is declared in ${otherUrl}. Change it there, then synchronise this gateway (POST /api/sync/cloud).`
    ])
    expect((await ask("POST", "/v1/chat/completions", "sk-a-key-that-a-team-has-already", { model: "quick", messages: [{ role: "user", content: "Hi." }] })).status).toBe(200)
    expect(await audited("sync.cloud.synced")).toEqual([{ target: null, details: { cloudUrl: otherUrl, version, changes: 4, refused: 2 } }])
    expect(JSON.stringify(await call("GET", "/api/compliance/audit-log?limit=500"))).not.toContain("canary-sync")

    // What was refused is tried again; once nothing is, only a changed bundle is read.
    const next = declare({ ...declared, providers: { main: declared.providers.main }, keys: {} })
    await call("POST", CLOUD, { action: "sync" })
    expect(await statusOf()).toMatchObject({ version: next, refused: [] })
    expect(await named("/api/keys", "keys")).not.toContain("team")
    reply = { status: 304, body: "" }
    expect(await call("POST", "/api/sync/initialize", {})).toMatchObject({ success: true, initialized: true, status: { connected: true, version: next } })
    expect(heard.map((one) => one["if-none-match"])).toEqual([undefined, undefined, `"${next}"`])
    expect(await named("/api/combos", "combos")).toContain("quick")
    heard.length = 0
  })

  it("an entry whose variable is missing keeps its record; a failure changes nothing and is told", async () => {
    declare({ nodes: { far: { type: "openai-compatible", apiType: "chat", baseUrl: `${lab.sim.url}/v1` } }, providers: { main: { provider: "far", apiKey: "${A_NEW_NAME}" } } })
    await call("POST", CLOUD, { action: "sync" })
    expect((await statusOf()).refused).toEqual([{ kind: "connection", name: "main", message: "Set GATEWAY_SYNC_A_NEW_NAME here" }])
    expect(await named("/api/providers", "connections")).toContain("main")
    expect(await named("/api/combos", "combos")).not.toContain("quick")
    reply = { status: 503, body: "" }
    const before = await statusOf()
    expect((await refused("POST", CLOUD, { action: "sync" }))[0]).toBe(502)
    expect(await statusOf()).toEqual({ ...before, connected: false, lastError: `The gateway at ${otherUrl} answered 503` })
  })

  it("sends no stored credential to another origin", async () => {
    const { operator } = lab.gateway
    const ours = await operator.createConnection({ provider: "openai", name: "ours", apiKey: "sk-of-the-operator-0001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
    const far = { type: "openai-compatible", apiType: "chat", baseUrl: `${otherUrl}/v1` }
    declare({ nodes: { far }, providers: { ours: { provider: "openai", providerSpecificData: { baseUrl: `${otherUrl}/v1` } }, main: { provider: "far", apiKey: "${MAIN_API_KEY}" } } })
    await call("POST", CLOUD, { action: "sync" })
    const { refused: told } = await statusOf()
    expect(told.map(({ kind, name }) => [kind, name])).toEqual([["node", "far"], ["connection", "ours"]])
    for (const { message } of told) expect(message).toContain(`Stored credentials would be sent to ${otherUrl}`)
    const { connections } = await call<{ connections: ReadonlyArray<{ id: string; providerSpecificData: Fields }> }>("GET", "/api/providers")
    expect(connections.find(({ id }) => id === ours)?.providerSpecificData["baseUrl"]).toBe(`${lab.sim.url}/v1`)
    await operator.removeConnection(ours)
  })

  it("its token goes to no other address", async () => {
    heard.length = 0
    await call("PATCH", "/api/settings", { cloudUrl: otherUrl.replace("127.0.0.1", "localhost") })
    expect(await statusOf()).toMatchObject({ enabled: true, connected: false, hasToken: false, lastSync: null })
    expect((await refused("POST", CLOUD, { action: "sync" })).slice(0, 2)).toEqual([400, "bad_request"])
    await call("PATCH", "/api/settings", { cloudUrl: "http://169.254.169.254" })
    expect((await refused("POST", CLOUD, { action: "enable", token: "canary-sync" })).slice(0, 2)).toEqual([400, "url_blocked"])
    expect(heard).toEqual([])
    await call("PATCH", "/api/settings", { cloudUrl: otherUrl })
  })

  it("ends: records stay and may be changed, and the token is forgotten", async () => {
    const { status } = await call<{ status: Status }>("POST", CLOUD, { action: "disable" })
    expect(status).toMatchObject({ enabled: false, connected: false, hasToken: false, lastSync: null })
    const main = (await call<{ connections: ReadonlyArray<{ id: string; name: string; owner: string }> }>("GET", "/api/providers")).connections.find(({ name }) => name === "main")
    expect(main?.owner).toBe("database")
    await lab.gateway.operator.changeConnection(main?.id ?? "", { priority: 7 })
    expect(await audited("sync.cloud.disabled")).toEqual([{ target: null, details: { released: 2 } }])
  })

  it("lets requests pass while it applies a long bundle", async () => {
    declare({ nodes: Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`long${i}`, { type: "openai-compatible", apiType: "chat", baseUrl: "nowhere" }])) })
    let isOver = false
    let longestMs = 0
    const begun = performance.now()
    const syncing = call("POST", CLOUD, { action: "enable", token: "canary-sync" }).finally(() => {
      isOver = true
    })
    while (!isOver) {
      const asked = performance.now()
      await lab.gateway.operator.raw("GET", "/api/health/ping")
      longestMs = Math.max(longestMs, performance.now() - asked)
    }
    await syncing
    // Not one long wait, however fast the machine is.
    expect(longestMs * 2).toBeLessThan(performance.now() - begun)
    expect((await statusOf()).refused).toHaveLength(200)
    await call("POST", CLOUD, { action: "disable" })
    heard.length = 0
  })

  it("is an operator's with scope admin", async () => {
    const manager = await lab.gateway.operator.createKey("manager", { scopes: ["manage"] })
    for (const [method, path, body] of [["POST", CLOUD, { action: "disable" }], ["POST", "/api/sync/initialize", {}], ["PATCH", "/api/settings", { cloudUrl: otherUrl }], ["PATCH", "/api/settings", { cloudEnabled: true }]] as const) {
      expect([path, (await ask(method, path, manager.key, body)).status]).toEqual([path, 403])
    }
  })
})

describe("clients beside the gateway", () => {
  it("read masked connections and aliases: operators all, a key what it may use", async () => {
    await call("PUT", "/api/models/alias", { alias: "swift", model: "lab/echo" })
    const plain = await lab.gateway.operator.createKey("plain")
    const other = await lab.gateway.operator.createKey("other", { allowedModels: ["far/echo"], modelAccessMode: "restricted" })
    const bound = await lab.gateway.operator.createKey("bound", { allowedConnections: [lab.connection] })
    const auth = async (bearer: string | null) => {
      const { status, text } = await ask("POST", "/api/cloud/auth", bearer)
      return { status, text, ...(JSON.parse(text) as { connections?: ReadonlyArray<Fields>; modelAliases?: Fields }) }
    }
    expect((await auth(null)).status).toBe(401)
    expect((await auth("sk-unknown")).status).toBe(401)
    const all = await auth(plain.key)
    expect(all.connections).toContainEqual({
      provider: "lab", authType: "apikey", hasApiKey: true, hasAccessToken: false, hasRefreshToken: false, maskedApiKey: "canary...", projectId: null, expiresAt: null,
      priority: 1, globalPriority: null, defaultModel: null, isActive: true
    })
    expect([all.connections?.length, all.modelAliases]).toEqual([2, { swift: "lab/echo" }])
    for (const secret of [CREDENTIAL, MAIN_KEY]) expect(all.text).not.toContain(secret)
    expect(await auth(other.key)).toMatchObject({ connections: [], modelAliases: {} })
    expect((await auth(bound.key)).connections?.map(({ provider }) => provider)).toEqual(["lab"])

    const resolve = async (bearer: string | null, alias: string) => {
      const { status, text } = await ask("POST", "/api/cloud/model/resolve", bearer, { alias })
      return status === 200 ? JSON.parse(text) as unknown : status
    }
    expect(await resolve(plain.key, "swift")).toEqual({ alias: "swift", provider: "lab", model: "echo" })
    expect(await resolve(plain.key, "no/such-model")).toBe(404)
    expect(await resolve(other.key, "swift")).toBe(404)
    expect(await resolve(other.key, "far/echo")).toEqual({ alias: "far/echo", provider: "far", model: "echo" })
    expect(await resolve(null, "swift")).toBe(401)
  })

  it("store newer tokens of a sign-in, as an operator", async () => {
    const PATH = "/api/cloud/credentials/update"
    const store = Context.get(lab.gateway.services(), ConnectionStore)
    const signIn = (id: string) => Records.connection({
      id, name: id, provider: "anthropic", authType: "oauth", apiKey: null, accessToken: Redacted.make("old-access"), refreshToken: Redacted.make("old-refresh"), testStatus: "expired"
    })
    const configuration = Context.get(lab.gateway.services(), Configuration)
    const add = (id: string) => Effect.runPromise(configuration.commit(store.insert(signIn(id))))
    expect(await refused("POST", PATH, { provider: "nowhere", credentials: { accessToken: "a" } })).toEqual([400, "bad_request", "provider"])
    expect((await refused("POST", PATH, { provider: "claude", credentials: { accessToken: "a" } }))[0]).toBe(404)
    await add("sign-in-1")
    const updated = await call<{ expiresAt: string }>("POST", PATH, { provider: "claude", credentials: { accessToken: "canary-access", expiresIn: 3600 } })
    expect(updated).toEqual({ success: true, provider: "anthropic", connectionId: "sign-in-1", expiresAt: updated.expiresAt })
    const read = async () => {
      const found = await Effect.runPromise(store.get("sign-in-1"))
      return [found?.accessToken, found?.refreshToken].map((one) => one === null || one === undefined ? null : Redacted.value(one)).concat(found?.testStatus ?? null, found?.tokenExpiresAt ?? null)
    }
    expect(await read()).toEqual(["canary-access", "old-refresh", "active", updated.expiresAt])
    await call("POST", PATH, { provider: "claude", credentials: { refreshToken: "new-refresh" } })
    expect(await read()).toEqual(["canary-access", "new-refresh", "active", updated.expiresAt])
    const log = await call<ReadonlyArray<Fields>>("GET", "/api/compliance/audit-log?action=provider.credentials.updated&target=sign-in-1")
    expect(log.map(({ details }) => details)).toEqual([
      { provider: "anthropic", name: "sign-in-1", changed: ["refreshToken"] }, { provider: "anthropic", name: "sign-in-1", changed: ["accessToken", "expiresIn"] }
    ])
    expect(JSON.stringify(log)).not.toContain("canary-access")

    await add("sign-in-2")
    expect(await refused("POST", PATH, { provider: "claude", credentials: { accessToken: "b" } })).toEqual([409, "conflict", "connectionId"])
    expect(await call("POST", PATH, { provider: "claude", connectionId: "sign-in-2", credentials: { accessToken: "b" } })).toMatchObject({ connectionId: "sign-in-2", expiresAt: null })
    expect(await refused("POST", PATH, { provider: "claude", credentials: {} })).toEqual([400, "bad_request", "credentials"])
    expect((await refused("POST", PATH, { provider: "claude", credentials: { accessToken: "a\r\nb" } }))[0]).toBe(400)
    const [plain, reader] = [await lab.gateway.operator.createKey("no operator"), await call<{ token: string }>("POST", "/api/cli/tokens", { name: "writer", scope: "write" })]
    for (const bearer of [plain.key, reader.token]) expect((await ask("POST", PATH, bearer, { provider: "claude", credentials: { accessToken: "a" } })).status).toBe(403)
    expect((await ask("POST", PATH, null, { provider: "claude", credentials: { accessToken: "a" } })).status).toBe(401)
  })
})

describe("the setting baseUrl", () => {
  it("is the address in the agent card, behind GATEWAY_PUBLIC_URL", async () => {
    const card = async () => (JSON.parse((await ask("GET", "/.well-known/agent.json", null)).text) as { url: string }).url
    expect(await card()).toBe(`${lab.gateway.url}/a2a`)
    await call("PATCH", "/api/settings", { baseUrl: "https://ai.example.com/gateway/" })
    expect(await card()).toBe("https://ai.example.com/gateway/a2a")
    await call("PATCH", "/api/settings", { baseUrl: null })
    expect(await card()).toBe(`${lab.gateway.url}/a2a`)
  })
})
