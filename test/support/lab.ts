/**
 * A gateway in this process with a simulator behind it under the prefix `lab`: the smallest world in which a client's call is
 * a real one. Tests of one file share it and keep apart by model ids, which the simulator's rules and log are keyed by.
 */
import { type Sim, startSim } from "./sim.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import { inProcess, type InProcess, type Options } from "./gateway.ts"
import * as Http from "./http.ts"

/** What the connection `lab` holds; no test may ever see it outside the simulator. */
export const CREDENTIAL = "canary_Zk93mQ7xTt51LabCredential"

export interface Chat {
  readonly model: string
  readonly [field: string]: unknown
}

export interface Lab {
  readonly sim: Sim
  readonly gateway: InProcess
  readonly node: string
  readonly connection: string
  /** POST /v1/chat/completions as a call; `lab/` is put before the model unless it has a prefix. */
  readonly call: (chat: Chat, headers?: Readonly<Record<string, string>>) => Http.Call
  readonly chat: (chat: Chat, headers?: Readonly<Record<string, string>>) => Promise<Http.Reply>
  readonly stream: (chat: Chat, headers?: Readonly<Record<string, string>>) => Promise<Http.Opened>
  /** A node of its own with one connection per credential, in this order of priority. */
  readonly pool: (prefix: string, credentials: ReadonlyArray<string>) => Promise<ReadonlyArray<string>>
  /** Rows of the request that a reply belongs to, first attempt first. */
  readonly rows: (reply: { readonly headers: Readonly<Record<string, string>> }) => Promise<ReadonlyArray<LedgerRow>>
  readonly close: () => Promise<void>
}

export const messages = [{ role: "user", content: "Say something to the point." }] as const

/** `awake`: breakers, cooldowns and hints work; else a test's failures leave no memory in the next test of its file. */
export const startLab = async ({ resilience = "asleep", ...options }: Options & { readonly resilience?: "awake" | "asleep" } = {}): Promise<Lab> => {
  const sim = await startSim({ models: { "*": {} } })
  const gateway = await inProcess(options)
  const { operator } = gateway
  if (resilience === "asleep") await operator.letFailuresPass()
  const node = await operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
  const connection = await operator.createConnection({ provider: node, apiKey: CREDENTIAL })
  const call = (chat: Chat, headers: Readonly<Record<string, string>> = {}): Http.Call => ({
    path: "/v1/chat/completions",
    headers,
    body: { messages, ...chat, model: chat.model.includes("/") ? chat.model : `lab/${chat.model}` }
  })
  return {
    sim, gateway, node, connection, call,
    chat: (chat, headers) => Http.send(gateway.url, call(chat, headers)),
    stream: (chat, headers) => Http.stream(gateway.url, call({ stream: true, ...chat }, headers)),
    pool: async (prefix, credentials) => {
      const provider = await operator.createNode({ prefix, baseUrl: `${sim.url}/v1` })
      const ids: Array<string> = []
      for (const [index, apiKey] of credentials.entries()) {
        ids.push(await operator.createConnection({ provider, apiKey, name: `${prefix}-${index}`, priority: index + 1 }))
      }
      return ids
    },
    rows: async (reply) => {
      const rows = await gateway.rows(reply.headers["x-gateway-request-id"] ?? "no request id")
      return [...rows].sort((a, b) => a.attempt - b.attempt)
    },
    close: async () => {
      await gateway.close()
      await sim.stop()
    }
  }
}

/** The error object of a reply. */
export const errorIn = (reply: { readonly text: string }): Readonly<Record<string, unknown>> =>
  (JSON.parse(reply.text) as { error: Record<string, unknown> }).error

/** The JSON frames of a stream, without `[DONE]`. */
export const framesOf = (text: string): ReadonlyArray<Readonly<Record<string, unknown>>> =>
  Http.payloads(text).filter((data) => data !== "[DONE]").map((data) => JSON.parse(data) as Record<string, unknown>)

/** The text that a client would show of a stream. */
export const contentOf = (text: string): string =>
  framesOf(text).map((frame) => {
    const [choice] = (frame["choices"] ?? []) as ReadonlyArray<{ delta?: { content?: string } }>
    return choice?.delta?.content ?? ""
  }).join("")

/** A command and its long output, as messages of a chat completion. */
export const longOutput: ReadonlyArray<object> = [
  { role: "assistant", content: null, tool_calls: [{ id: "call_1", type: "function", function: { name: "bash", arguments: "{\"command\":\"docker logs x\"}" } }] },
  { role: "tool", tool_call_id: "call_1", content: "served\n".repeat(400) }
]
