/** A gateway that serves agents, and official clients of it. */
import { Role, type SendMessageRequest, type StreamResponse, type Task } from "@a2a-js/sdk"
import { type Client, ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from "@a2a-js/sdk/client"
import { inProcess, type InProcess, type Options } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { CREDENTIAL } from "#test/support/lab.ts"
import { startSim, type Sim } from "#test/support/sim.ts"

export interface A2aLab {
  readonly gateway: InProcess
  readonly sim: Sim
  readonly close: () => Promise<void>
}

export const startA2a = async (options: Options = {}): Promise<A2aLab> => {
  const sim = await startSim({ models: { "*": {} } })
  const gateway = await inProcess(options)
  await gateway.operator.letFailuresPass()
  const lab = await gateway.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
  await gateway.operator.createConnection({ provider: lab, apiKey: CREDENTIAL })
  await gateway.operator.call("PATCH", "/api/settings", { a2aEnabled: true })
  return {
    gateway, sim,
    close: async () => {
      await gateway.close()
      await sim.stop()
    }
  }
}

type Fetch = typeof fetch

const authorized = (key: string, send: Fetch = fetch): Fetch => (to, init) => {
  const headers = new Headers(init?.headers)
  headers.set("authorization", `Bearer ${key}`)
  return send(to, { ...init, headers })
}

/** The official client of version 1.0, or of 0.3 in its compatible form. */
export const clientOf = (url: string, key: string, version: "1.0" | "0.3" = "1.0", send?: Fetch): Promise<Client> => {
  const legacyCompat = { enabled: version === "0.3" }
  return new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl: authorized(key, send), legacyCompat })],
    cardResolver: new DefaultAgentCardResolver({ legacyCompat })
  }).createFromUrl(url, version === "0.3" ? "/.well-known/agent.json" : undefined)
}

/** A message with a text, for a skill, with more metadata. */
export const message = (text: string, metadata: Record<string, unknown> = {}, more: Partial<SendMessageRequest> = {}): SendMessageRequest => ({
  tenant: "", configuration: undefined, metadata,
  message: {
    messageId: `m-${Math.random()}`, contextId: "", taskId: "", role: Role.ROLE_USER, metadata: undefined, extensions: [], referenceTaskIds: [],
    parts: [{ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "text/plain" }]
  },
  ...more
})

/** Not waiting for the end. */
export const atOnce: Partial<SendMessageRequest> = { configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: true } }

export const taskIn = (result: unknown): Task => {
  if (typeof result !== "object" || result === null || !("status" in result)) throw new Error(`no task: ${JSON.stringify(result)}`)
  return result as Task
}

export const textIn = (task: Pick<Task, "artifacts">): string => {
  const content = task.artifacts[0]?.parts[0]?.content
  return content?.$case === "text" ? content.value : ""
}

/** All that a stream brings. */
export const all = async (stream: AsyncIterable<StreamResponse>): Promise<ReadonlyArray<NonNullable<StreamResponse["payload"]>>> => {
  const seen: Array<NonNullable<StreamResponse["payload"]>> = []
  for await (const { payload } of stream) if (payload !== undefined) seen.push(payload)
  return seen
}

export const frame = (method: string, params?: unknown, id: number | string | null = 1): unknown => ({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) })

/** One frame to /a2a. */
export const post = (url: string, key: string | null, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Http.Reply> =>
  Http.send(url, { path: "/a2a", headers: { ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...headers }, body })

export const jsonOf = <A>(reply: { readonly text: string }): A => JSON.parse(reply.text) as A

export interface Frame {
  readonly id: unknown
  readonly result?: { readonly task: { readonly id: string; readonly state: string }; readonly artifacts: ReadonlyArray<{ readonly type: string; readonly content: string }>; readonly metadata: Record<string, unknown> }
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}
