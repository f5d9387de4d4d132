/** The bytes of a request: the same small chat request for every target but for model prefix and key. */
import { modelOf, type Script } from "../payload.ts"
import type { Endpoint } from "./Job.ts"

const raw = (endpoint: Endpoint, path: string, body: unknown): Buffer => {
  const text = JSON.stringify(body)
  const authorization = endpoint.apiKey === null ? "" : `authorization: Bearer ${endpoint.apiKey}\r\n`
  return Buffer.from(
    `POST ${endpoint.basePath}${path} HTTP/1.1\r\nhost: ${endpoint.host}:${endpoint.port}\r\n${authorization}` +
      `content-type: application/json\r\naccept: */*\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    "utf8"
  )
}

export const messages = [{ role: "user", content: "Say hello to the quick brown fox in one short sentence." }]

export const chatRequest = (endpoint: Endpoint, script: Script): Buffer =>
  raw(endpoint, "/chat/completions", {
    model: endpoint.modelPrefix + modelOf(script),
    messages,
    ...(script.kind === "json" ? {} : { stream: true, stream_options: { include_usage: true } })
  })

export const messagesRequest = (endpoint: Endpoint, script: Script): Buffer =>
  raw(endpoint, "/messages", { model: endpoint.modelPrefix + modelOf(script), messages, max_tokens: 100_000, stream: true })
