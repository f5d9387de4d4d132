/** Integers of more than 53 bits in calls and their results: each client and each vendor reads the digits that the other side wrote. */
import * as NodeHttp from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"

const ID = "1234567890123456789"
const args = `{"id":${ID},"of":[-${ID},{"small":12,"text":"${ID}","part":0.5}]}`
/** The same as text within JSON. */
const told = JSON.stringify(args).slice(1, -1)

const answers = {
  "messages": `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"look","input":${args}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`,
  "generateContent": `{"candidates":[{"index":0,"content":{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look","args":${args}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`,
  "local-model-server": `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"look","arguments":${args}}}]},"done":true,"done_reason":"stop","prompt_eval_count":1,"eval_count":1}`
} as const

/** Vendors whose calls hold their arguments as text are only asked. */
const yes = {
  "/v1/chat/completions": `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`,
  "/v1/responses": `{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"yes","annotations":[]}]}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`
}

const clients = {
  "chat-completions": {
    path: "/v1/chat/completions",
    body: `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"${told}"}}]},{"role":"tool","tool_call_id":"c1","content":"yes"}],"tools":[{"type":"function","function":{"name":"look"}}]`
  },
  "messages": {
    path: "/v1/messages",
    body: `"max_tokens":9,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"look","input":${args}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"yes"}]}],"tools":[{"name":"look","input_schema":{"type":"object"}}]`
  },
  "generateContent": {
    path: null,
    body: `"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look","args":${args}}}]},{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":"yes"}}}]}],"tools":[{"functionDeclarations":[{"name":"look"}]}]`
  },
  "local-model-server": {
    path: "/v1/api/chat",
    body: `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"look","arguments":${args}}}]},{"role":"tool","tool_name":"look","content":"yes"}],"tools":[{"type":"function","function":{"name":"look"}}]`
  }
} as const
type Client = keyof typeof clients

/** What reached the vendors, by the path of the gateway's call. */
const seen: Array<string> = []
const server = NodeHttp.createServer((request, response) => {
  const parts: Array<Buffer> = []
  request.on("data", (part: Buffer) => parts.push(part))
  request.on("end", () => {
    seen.push(Buffer.concat(parts).toString("utf8"))
    const path = request.url ?? ""
    if (path.includes(":streamGenerateContent")) response.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${answers.generateContent}\n\n`)
    else if (path.includes(":generateContent")) response.writeHead(200, { "content-type": "application/json" }).end(answers.generateContent)
    else if (path.endsWith("/api/chat")) response.writeHead(200, { "content-type": "application/x-ndjson" }).end(`${answers["local-model-server"]}\n`)
    else response.writeHead(200, { "content-type": "application/json" }).end(path in yes ? yes[path as keyof typeof yes] : answers.messages)
  })
})

/** A model of each family, as clients call it. */
const models = {
  "chat-completions": "chat/m", "responses": "resp/m", "messages": "msgs/m", "generateContent": "gemini/gemini-3-flash", "local-model-server": "ollama/qwen3"
} as const
type Family = keyof typeof models
const familyNames = Object.keys(models) as ReadonlyArray<Family>

let gateway: InProcess
beforeAll(async () => {
  gateway = await inProcess({ environment: { GATEWAY_ALLOW_LOCAL_PROVIDER_URLS: "true" } })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { operator } = gateway
  for (const [prefix, type, apiType] of [["chat", "openai-compatible", "chat"], ["resp", "openai-compatible", "responses"], ["msgs", "anthropic-compatible", undefined]] as const) {
    const provider = await operator.createNode({ prefix, type, baseUrl: `${url}/v1`, ...(apiType === undefined ? {} : { apiType }) })
    await operator.createConnection({ provider, apiKey: "sk-vendor" })
  }
  for (const [provider, baseUrl] of [["gemini", `${url}/v1beta`], ["ollama", url]] as const) {
    await operator.createConnection({ provider, apiKey: "sk-vendor", providerSpecificData: { baseUrl, ...(provider === "ollama" ? { mainFormatOnly: true } : {}) } })
  }
})
afterAll(async () => {
  await gateway.close()
  server.close()
})

const ask = (client: Client, family: Family, stream: boolean): Promise<Http.Reply> => {
  const { body, path } = clients[client]
  const model = models[family]
  return Http.send(gateway.url, {
    path: path ?? `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    headers: { "content-type": "application/json" },
    body: path === null ? `{${body}}` : `{"model":"${model}","stream":${stream},${body}}`
  })
}

/** Each of the three, and none that was rounded. */
const expectDigits = (text: string): void => {
  expect(text.split(ID).length - 1, text).toBe(3)
  expect(text).not.toContain("12345678901234568")
}

it.each([`{"id":${ID}}`, `{"output":[${ID}]}`, `{"result":${ID}}`, `{"output":"${ID}"}`])("the result %s of a client of generateContent is told with its digits", async (response) => {
  seen.length = 0
  const contents = clients.generateContent.body.replace('{"output":"yes"}', response).replace(args, "{}")
  await Http.send(gateway.url, { path: `/v1beta/models/${models.messages}:generateContent`, headers: { "content-type": "application/json" }, body: `{${contents}}` })
  expect((seen[0] ?? "").split(ID).length - 1, seen[0]).toBe(1)
})

it.each(["chat-completions", "responses", "messages", "local-model-server"] as const)("a result that a client of generateContent holds as an object reaches a vendor of %s as it was sent", async (family) => {
  seen.length = 0
  const contents = clients.generateContent.body.replace('{"output":"yes"}', args)
  await Http.send(gateway.url, { path: `/v1beta/models/${models[family]}:generateContent`, headers: { "content-type": "application/json" }, body: `{${contents}}` })
  expect((seen[0] ?? "").split(ID).length - 1, seen[0]).toBe(6)
  expect(seen[0]).not.toContain("12345678901234568")
})

describe.each(Object.keys(clients) as ReadonlyArray<Client>)("integers of 64 bits, for a client of %s,", (client) => {
  it.each(familyNames)("in a call that was made before reach a vendor of %s", async (family) => {
    seen.length = 0
    await ask(client, family, false)
    expectDigits(seen[0] ?? "")
  })

  it.each([["messages", false], ["generateContent", false], ["generateContent", true], ["local-model-server", false], ["local-model-server", true]] as const)(
    "in a call of a vendor of %s arrive, streamed %s", async (family, stream) => {
      const reply = await ask(client, family, stream)
      expect(reply.status, reply.text).toBe(200)
      expectDigits(reply.text)
    })
})
