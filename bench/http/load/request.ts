/** The bytes of a request: the same small one for every target but for model prefix and key. */
import { modelOf, type Script } from "../payload.ts"
import type { Endpoint } from "./Job.ts"

const raw = (endpoint: Endpoint, path: string, body: unknown): Buffer => {
  const text = JSON.stringify(body)
  const authorization = endpoint.apiKey === null ? "" : `authorization: Bearer ${endpoint.apiKey}\r\n`
  const further = (endpoint.headers ?? []).map((text, i) => i % 2 === 0 ? `${text}: ` : `${text}\r\n`).join("")
  return Buffer.from(
    `POST ${endpoint.basePath}${path} HTTP/1.1\r\nhost: ${endpoint.host}:${endpoint.port}\r\n${authorization}${further}` +
      `content-type: application/json\r\naccept: */*\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    "utf8"
  )
}

const text = "Say hello to the quick brown fox in one short sentence."

export const messages = [{ role: "user", content: text }]

export const chatRequest = (endpoint: Endpoint, script: Script): Buffer =>
  raw(endpoint, "/chat/completions", {
    model: endpoint.modelPrefix + modelOf(script),
    messages,
    ...(script.kind === "json" ? {} : { stream: true, stream_options: { include_usage: true } })
  })

/** The request whose answer is the script's. */
export const requestOf = (endpoint: Endpoint, script: Script): Buffer => {
  const model = endpoint.modelPrefix + modelOf(script)
  switch (script.kind) {
    case "embedding": return raw(endpoint, "/embeddings", { model, input: text })
    case "sound": return raw(endpoint, "/audio/speech", { model, input: text, voice: "alloy" })
    default: return chatRequest(endpoint, script)
  }
}

export const messagesRequest = (endpoint: Endpoint, script: Script): Buffer =>
  raw(endpoint, "/messages", { model: endpoint.modelPrefix + modelOf(script), messages, max_tokens: 100_000, stream: true })
