/** A gateway with something on every screen; answers the id of a request that fell back. */
import type { InProcess } from "#test/support/gateway.ts"
import { managedKey, Session } from "#test/features/leases/support.ts"
import * as Http from "#test/support/http.ts"

/** `mark` stands in every name that an operator or a client may choose. */
export const seed = async ({ operator, url }: InProcess, mark = ""): Promise<string> => {
  await operator.createConnection({ provider: "sim", apiKey: "any", name: `practice${mark}` })
  await operator.createNode({ prefix: "lab", name: `Lab${mark}`, baseUrl: "http://127.0.0.1:9/v1" })
  await operator.createConnection({ provider: "lab", apiKey: `sk-${mark.length}`, name: `broken${mark}` })
  await operator.call("POST", "/api/combos", { name: "reliable", description: `Description${mark}`, strategy: "priority", models: [{ model: "lab/small", label: `label${mark}` }, "sim/echo"] })
  const key = await operator.createKey(`app${mark}`)
  await operator.call("POST", "/api/usage/budget", { apiKeyId: key.id, dailyLimitUsd: 1 })
  await operator.call("POST", "/api/webhooks", { url: "https://93.184.216.34/hook", description: `receiver${mark}`, events: ["quota.exceeded"] })
  const ask = (model: string, headers: Readonly<Record<string, string>> = {}) => Http.send(url, {
    path: "/v1/chat/completions", headers: { authorization: `Bearer ${key.key}`, ...headers }, body: { model, messages: [{ role: "user", content: `Hello${mark}` }] }
  })
  const body = { messages: [{ role: "user", content: `Hello${mark}` }] }
  await operator.call("POST", "/api/usage/token-limits", { apiKeyId: key.id, scopeType: "model", scopeValue: `lab/model${mark}`, tokenLimit: 1_000_000, resetInterval: "daily" })
  await operator.call("POST", "/api/evals/suites", { name: `suite${mark}`, description: `why${mark}`, cases: [{ name: `case${mark}`, model: "sim/echo", input: body, expected: { strategy: "contains", value: `Hello${mark}` } }] })
  await operator.call("PUT", "/api/settings/cache-config", { semanticCacheEnabled: true })
  await operator.call("PATCH", "/api/settings", { mcpEnabled: true, mcpTransport: "streamable-http", a2aEnabled: true })
  const { connections } = await operator.call<{ connections: ReadonlyArray<{ id: string; provider: string }> }>("GET", "/api/providers")
  const leased = await managedKey({ operator }, `holder${mark}`, connections.filter(({ provider }) => provider === "sim").map(({ id }) => id))
  await new Session({ url }, leased.key).acquire("sim/echo")
  await operator.raw("POST", "/a2a", { jsonrpc: "2.0", id: 1, method: "message/send", params: { skill: "smart-routing", ...body, metadata: { model: "sim/echo" } } })
  const form = new FormData()
  form.append("purpose", "batch")
  form.append("file", new File([JSON.stringify({ custom_id: `line${mark}`, method: "POST", url: "/v1/chat/completions", body: { model: "nobody/nothing", ...body } })], `file${mark}.jsonl`))
  const authorization = `Bearer ${key.key}`
  const { id: input_file_id } = await (await fetch(`${url}/v1/files`, { method: "POST", headers: { authorization }, body: form })).json() as { id: string }
  await Http.send(url, { path: "/v1/batches", headers: { authorization }, body: { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h", metadata: { note: `batch${mark}` } } })
  await Http.send(url, { path: "/v1/chat/completions", headers: { authorization }, body: { model: "sim/echo", temperature: 0, ...body } })
  const { id: proxyId } = await operator.call<{ id: string }>("POST", "/api/v1/management/proxies", { name: `office${mark}`, host: "proxy.example", port: 3128, username: `user${mark}`, password: `word${mark}`, region: "eu", notes: `notes${mark}` })
  await operator.call("POST", "/api/v1/management/proxy-subscriptions", { name: `list${mark}`, url: "https://93.184.216.34/list", enabled: false })
  await operator.call("PUT", "/api/v1/management/proxies/assignments", { scope: "provider", scopeId: "openai", proxyId })
  await operator.call("PUT", "/api/settings/ip-filter", { blacklist: ["203.0.113.0/24"], whitelist: ["192.0.2.7"], tempBan: { ip: "198.51.100.9", reason: `reason${mark}` } })
  await operator.call("PUT", "/api/settings/system-prompt", { prefixPrompt: `before${mark}`, suffixPrompt: `behind${mark}` })
  await operator.call("PUT", "/api/settings/compression", { enabled: true, defaultMode: "standard", cavemanConfig: { preservePatterns: [`keep${mark}`], minMessageLength: 1 } })
  await ask("sim/echo")
  await operator.call("PUT", "/api/settings/compression", { enabled: false })
  await operator.call("PATCH", "/api/settings", { oidcIssuer: "https://login.example.com", oidcClientId: `client${mark}`, oidcClientSecret: `secret of a client${mark}`, oidcAllowedSubjects: [`subject${mark}`] })
  await operator.call("POST", "/api/memory", { apiKeyId: key.id, key: `note${mark}`, content: `content${mark}`, sessionId: `session${mark}` })
  await operator.call("POST", "/api/skills/install", { name: `skill${mark}`, description: `does${mark}`, tags: ["tag"], handlerCode: "return input" })
  await operator.call("PUT", "/api/settings/payload-rules", { override: [{ models: [{ name: `nothing${mark}` }], params: { metadata: `put${mark}` } }] })
  await operator.call("PUT", "/api/settings/task-routing", { taskModelMap: { coding: `coder${mark}` } })
  await operator.call("POST", "/api/sync/tokens", { name: `site${mark}` })
  await operator.call("POST", "/api/fallback/chains", { model: `chain${mark}`, chain: [{ provider: "openai" }, { provider: "sim", enabled: false }] })
  await operator.call("POST", "/api/agent-skills", { name: "page", description: `when${mark}`, prompt: `text${mark}` })
  await operator.call("POST", "/api/provider-models", { provider: "lab", modelId: `own${mark}`, modelName: `Own${mark}`, isFree: true })
  await operator.call("PUT", "/api/db-backups")
  await ask(`lab/model${mark}`)
  const reply = await ask("reliable", { "x-session-id": "session" })
  await operator.settled()
  return reply.headers["x-gateway-request-id"] ?? ""
}
