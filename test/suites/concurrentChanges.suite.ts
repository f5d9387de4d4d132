/** Management calls at the same time over HTTP: each that answers 200 is kept, and of two that exclude each other one is refused. */
import { describe, expect, it } from "vitest"
import { at } from "#test/support/management.ts"
import type { Operator } from "#test/support/operator.ts"

/** Changes of one record that are sent at once, again and again: a change is not lost in each round. */
const ROUNDS = 8

/** Where the changes are sent: to one gateway, or in turns to several on the same records. */
export interface Place {
  readonly operators: ReadonlyArray<Operator>
  /** The simulator behind the provider node `lab`, whose id is `node`. */
  readonly sim: { readonly url: string }
  readonly node: string
  /** Waits until every gateway acts on what was answered so far. */
  readonly settled: () => Promise<unknown>
}

type Fields = Readonly<Record<string, unknown>>

/** A record that stands: how one part of it is changed, and how all of it is read. */
interface Standing {
  readonly change: readonly [method: string, path: string]
  /** What each body says beside the fields that it changes. */
  readonly named?: Fields
  readonly read: () => Promise<unknown>
}

interface Row {
  readonly of: string
  readonly make: () => Promise<Standing>
  /** Changes of different fields; every round has other values. */
  readonly changes: (round: number) => ReadonlyArray<Fields>
  /** What the record then shows; without it, the fields as they were sent. */
  readonly shows?: (round: number) => Fields
}

/** `place` is asked when a test runs. */
export const concurrentChanges = (place: () => Place): void => {
  const gatewayOf = (i: number): Operator => {
    const { operators } = place()
    const one = operators[i % operators.length]
    if (one === undefined) throw new Error("no gateway")
    return one
  }
  const first = () => gatewayOf(0)
  const call = <A = unknown>(method: string, path: string, body?: unknown): Promise<A> => first().call<A>(method, path, body)
  const part = (path: string, ...names: ReadonlyArray<string>) => async (): Promise<unknown> => at(await call("GET", path), ...names)
  const evalCase = (id: string) => ({ id, name: id, model: null, tags: [], input: { messages: [{ role: "user", content: "?" }] }, expected: { strategy: "exact", value: "!" } })

  const connectionOf = async (name: string): Promise<Standing> => {
    const id = await first().createConnection({ provider: "openai", apiKey: "sk-first", name })
    return { change: ["PUT", `/api/providers/${id}`], read: part(`/api/providers/${id}`, "connection") }
  }
  const modelOf = async (modelId: string): Promise<Standing> => {
    await call("POST", "/api/provider-models", { provider: place().node, modelId })
    return {
      change: ["PUT", "/api/provider-models"], named: { provider: place().node, modelId },
      read: async () => (await call<{ models: ReadonlyArray<{ modelId: string }> }>("GET", `/api/provider-models?provider=${place().node}`)).models.find((model) => model.modelId === modelId)
    }
  }

  const rows: ReadonlyArray<Row> = [
    {
      of: "a budget",
      make: async () => {
        const { id: apiKeyId } = await first().createKey("budget")
        return { change: ["POST", "/api/usage/budget"], named: { apiKeyId }, read: part(`/api/usage/budget?apiKeyId=${apiKeyId}`) }
      },
      changes: (round) => [{ dailyLimitUsd: round + 1 }, { weeklyLimitUsd: round + 2 }, { monthlyLimitUsd: round + 3 }]
    },
    {
      of: "a token limit",
      make: async () => {
        const { id: apiKeyId } = await first().createKey("token limit")
        const named = { apiKeyId, scopeType: "global", tokenLimit: 1_000 }
        const { limit: { id } } = await call<{ limit: { id: string } }>("POST", "/api/usage/token-limits", named)
        return { change: ["POST", "/api/usage/token-limits"], named: { ...named, id }, read: part(`/api/usage/token-limits?apiKeyId=${apiKeyId}`, "limits", "0") }
      },
      changes: (round) => [{ resetInterval: round % 2 === 0 ? "daily" : "weekly" }, { resetTime: `0${round}:30` }, { enabled: round % 2 === 1 }]
    },
    ...(["providers/openai", "accounts/team"] as const).map((of): Row => ({
      of: `the issue limits of ${of}`,
      make: () => Promise.resolve({ change: ["PUT", `/v1/${of}/limits`], read: part(`/v1/${of}/limits`) }),
      changes: (round) => [{ maxActiveKeys: round + 1 }, { dailyIssueLimit: round + 2 }, { hourlyIssueLimit: round + 3 }]
    })),
    {
      of: "an eval suite",
      make: async () => {
        const { suite: { id } } = await call<{ suite: { id: string } }>("POST", "/api/evals/suites", { name: "first", cases: [evalCase("first")] })
        return { change: ["PUT", `/api/evals/suites/${id}`], read: part(`/api/evals/suites/${id}`, "suite") }
      },
      changes: (round) => [{ name: `name ${round}` }, { description: `description ${round}` }, { cases: [evalCase(`case-${round}`)] }]
    },
    {
      of: "a provider node",
      make: async () => {
        const id = await first().createNode({ prefix: "changed", baseUrl: `${place().sim.url}/v1` })
        return { change: ["PUT", `/api/provider-nodes/${id}`], read: part(`/api/provider-nodes/${id}`, "node") }
      },
      changes: (round) => [
        { name: `name ${round}` }, { chatPath: `/chat/${round}` }, { modelsPath: `/models/${round}` }, { prefix: `changed-${round}` }, { baseUrl: `${place().sim.url}/v${round}` }
      ]
    },
    {
      of: "a custom model",
      make: () => modelOf("changed"),
      changes: (round) => [{ modelName: `name ${round}` }, { contextWindowOverride: round + 1 }, { max_output_tokens: round + 2 }, { upstreamHeaders: { "x-round": `${round}` } }]
    },
    {
      of: "providerSpecificData of a connection",
      make: () => connectionOf("data"),
      changes: (round) => [
        { providerSpecificData: { customUserAgent: `agent-${round}` } }, { providerSpecificData: { weight: round + 1 } }, { providerSpecificData: { plan: `plan-${round}` } }
      ],
      shows: (round) => ({ providerSpecificData: { customUserAgent: `agent-${round}`, weight: round + 1, plan: `plan-${round}` } })
    },
    {
      of: "a connection, its credential among them,",
      make: () => connectionOf("credential"),
      changes: (round) => [{ name: `name ${round}` }, { priority: round + 2 }, { defaultModel: `model-${round}` }, { apiKey: `sk-${round}` }],
      shows: (round) => ({ name: `name ${round}`, priority: round + 2, defaultModel: `model-${round}` })
    },
    {
      of: "the price of a model",
      make: () => Promise.resolve({ change: ["PATCH", "/api/pricing"], read: part("/api/pricing", "lab", "priced") }),
      changes: (round) => [{ lab: { priced: { input: round + 1 } } }, { lab: { priced: { output: round + 2 } } }, { lab: { priced: { per_image: round + 3 } } }],
      shows: (round) => ({ input: round + 1, output: round + 2, per_image: round + 3 })
    },
    {
      of: "an MCP server",
      make: async () => {
        const { server: { id } } = await call<{ server: { id: string } }>("POST", "/api/mcp/servers", { name: "changed", url: `${place().sim.url}/mcp`, enabled: false })
        return { change: ["PATCH", `/api/mcp/servers/${id}`], read: part(`/api/mcp/servers/${id}`, "server") }
      },
      changes: (round) => [{ description: `description ${round}` }, { timeoutMs: 2_000 + round }, { url: `${place().sim.url}/mcp/${round}` }, { blockedTools: [`tool-${round}`] }]
    },
    {
      of: "a webhook",
      make: async () => {
        const { webhook: { id } } = await call<{ webhook: { id: string } }>("POST", "/api/webhooks", { kind: "telegram", url: "100", metadata: { botToken: "bot" } })
        return { change: ["PUT", `/api/webhooks/${id}`], read: part(`/api/webhooks/${id}`, "webhook") }
      },
      changes: (round) => [{ description: `description ${round}` }, { url: `20${round}` }, { enabled: round % 2 === 1 }, { events: [`request.${round % 2 === 0 ? "completed" : "failed"}`] }]
    },
    {
      of: "a combo",
      make: async () => {
        const { id } = await call<{ id: string }>("POST", "/api/combos", { name: "changed", models: ["lab/m"] })
        return { change: ["PUT", `/api/combos/${id}`], read: part(`/api/combos/${id}`) }
      },
      changes: (round) => [{ name: `changed-${round}` }, { description: `description ${round}` }, { strategy: round % 2 === 0 ? "round-robin" : "priority" }]
    }
  ]

  describe("changes at the same time", () => {
    it.each(rows)("of different fields of $of are all kept", async ({ changes, make, shows }) => {
      const { change: [method, path], named, read } = await make()
      await place().settled()
      for (let round = 0; round < ROUNDS; round++) {
        const bodies = changes(round)
        await Promise.all(bodies.map((fields, i) => gatewayOf(i).call(method, path, { ...named, ...fields })))
        await place().settled()
        expect(await read()).toMatchObject(shows === undefined ? Object.assign({}, ...bodies) : shows(round))
      }
    })

    it("of a node and of its connection are both kept in the connection", async () => {
      const node = await first().createNode({ prefix: "shared", baseUrl: `${place().sim.url}/v1` })
      const id = await first().createConnection({ provider: node, apiKey: "sk-shared" })
      await place().settled()
      for (let round = 0; round < ROUNDS; round++) {
        await Promise.all([
          gatewayOf(0).call("PUT", `/api/providers/${id}`, { providerSpecificData: { customUserAgent: `agent-${round}` } }),
          gatewayOf(1).call("PUT", `/api/provider-nodes/${node}`, { name: `name ${round}` })
        ])
        await place().settled()
        expect(at(await part(`/api/providers/${id}`, "connection")(), "providerSpecificData")).toMatchObject({ customUserAgent: `agent-${round}`, nodeName: `name ${round}` })
      }
    })

    it("of a model and of what is hidden are both kept", async () => {
      const { change: [method, path], named, read } = await modelOf("hidden")
      await place().settled()
      for (let round = 0; round < ROUNDS; round++) {
        const isHidden = round % 2 === 0
        await Promise.all([
          gatewayOf(0).call("PATCH", `/api/provider-models?provider=${place().node}&modelId=hidden`, { isHidden }),
          gatewayOf(1).call(method, path, { ...named, modelName: `name ${round}` })
        ])
        await place().settled()
        expect(await read()).toMatchObject({ modelName: `name ${round}`, isHidden })
      }
    })
  })

  describe("records made at the same time", () => {
    const statuses = async (path: string, bodies: ReadonlyArray<unknown>): Promise<ReadonlyArray<number>> =>
      (await Promise.all(bodies.map((body, i) => gatewayOf(i).raw("POST", path, body)))).map(({ status }) => status).sort()

    it("with one id: one eval suite is made, the other is refused", async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const suite = (name: string) => ({ id: `suite-${round}`, name, cases: [evalCase("one")] })
        expect(await statuses("/api/evals/suites", [suite("one"), suite("other")])).toEqual([201, 409])
      }
    })

    it("with one prefix: one provider node is made, the other is refused", async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const node = (name: string) => ({ type: "openai-compatible", apiType: "chat", name, prefix: `twin-${round}`, baseUrl: `${place().sim.url}/v1` })
        expect(await statuses("/api/provider-nodes", [node("one"), node("other")])).toEqual([201, 409])
      }
    })
  })
}
