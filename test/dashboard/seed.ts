/** A gateway with something on every screen; answers the id of a request that fell back. */
import type { InProcess } from "#test/support/gateway.ts"
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
  await ask("sim/echo")
  await ask(`lab/model${mark}`)
  const reply = await ask("reliable", { "x-session-id": "session" })
  await operator.settled()
  return reply.headers["x-gateway-request-id"] ?? ""
}
