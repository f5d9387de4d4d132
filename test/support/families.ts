/**
 * One gateway and one simulator that is every vendor at once: a provider, node or local server of each family points at it. What a
 * client of any format asks for arrives in the simulator's log in the words of the family that its model belongs to.
 */
import type { FamilyName, FormatName } from "#schemas/wire/conversation.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import type { TruthEntry, Script } from "#src/simulator/Simulator.ts"
import { inProcess, type InProcess, type Options } from "./gateway.ts"
import { eventually } from "./operator.ts"
import { seen, type Seen } from "./upstreamBodies.ts"
import { type Sim, startSim } from "./sim.ts"

/** Prices of every model that a test names in `priced`, USD per million tokens. */
export const PRICE = { input: 1, output: 10, cached: 0.1, reasoning: 10 } as const

export interface Family {
  readonly name: FamilyName
  /** Prefix of its models for a client of this format: a provider that also speaks the client's own format would be called in that. */
  readonly prefix: (face: FormatName) => string
  /** What its vendor's models are called: codecs and simulator know rules of certain generations. */
  readonly stem: string
  /** A model that gives its thoughts: the vendor of chat completions keeps them, its compatible servers do not. */
  readonly thinker: string
  /** Where the simulator is called. */
  readonly path: RegExp
}

const always = (prefix: string) => () => prefix

export const families: ReadonlyArray<Family> = [
  { name: "chat-completions", prefix: always("chat"), stem: "gpt-5.1", thinker: "kimi-k3", path: /^\/v1\/chat\/completions$/ },
  { name: "messages", prefix: always("msgs"), stem: "claude-sonnet-4-5", thinker: "claude-sonnet-4-5", path: /^\/v1\/messages$/ },
  { name: "responses", prefix: always("resp"), stem: "gpt-5", thinker: "gpt-5", path: /^\/v1\/responses$/ },
  {
    name: "generateContent", prefix: always("gemini"), stem: "gemini-3-flash", thinker: "gemini-3-flash",
    path: /^\/v1beta\/models\/[^/]+:(generateContent|streamGenerateContent)$/
  },
  {
    name: "local-model-server", prefix: (face) => face === "responses" ? "ollama-cloud" : "ollama", stem: "qwen3", thinker: "qwen3",
    path: /^\/api\/chat$/
  }
]

/** The families that a client of this format reaches: all. (The local model server's connection takes its own format only.) */
export const familiesFor = (_face: FormatName): ReadonlyArray<Family> => families

export interface TestModel {
  /** What the client asks for. */
  readonly id: string
  /** What the simulator is asked for. */
  readonly name: string
}

export interface Matrix {
  readonly sim: Sim
  readonly gateway: InProcess
  readonly url: string
  readonly key: string
  /** Ledger ids of the providers, by prefix. */
  readonly providers: ReadonlyMap<string, string>
  /** A model of its own for a test; the first request to it gets the first script, and so on. Without scripts it echoes. */
  readonly model: (family: Family, face: FormatName, label: string, ...scripts: ReadonlyArray<Script>) => Promise<TestModel>
  /** What arrived upstream for a model, oldest first. */
  readonly arrived: (family: Family, name: string) => Promise<ReadonlyArray<Seen>>
  readonly entries: (name: string) => Promise<ReadonlyArray<TruthEntry>>
  readonly price: (prefix: string, model: string) => Promise<unknown>
  readonly rows: (requestId: string) => Promise<ReadonlyArray<LedgerRow>>
  /** Rows of a model of the simulator, once there are `count`. */
  readonly rowsOf: (name: string, count: number) => Promise<ReadonlyArray<LedgerRow>>
  readonly close: () => Promise<void>
}

export const startMatrix = async (environment: Readonly<Record<string, string>> = {}, options: Pick<Options, "machine"> = {}): Promise<Matrix> => {
  const sim = await startSim({ models: { "*": {} } })
  const gateway = await inProcess({ environment: { GATEWAY_ALLOW_LOCAL_PROVIDER_URLS: "true", ...environment }, ...options })
  const { operator } = gateway
  await operator.letFailuresPass()
  const providers = new Map<string, string>()
  for (const [prefix, type, apiType] of [
    ["chat", "openai-compatible", "chat"], ["resp", "openai-compatible", "responses"], ["msgs", "anthropic-compatible", undefined]
  ] as const) {
    const id = await operator.createNode({ prefix, type, baseUrl: `${sim.url}/v1`, ...(apiType === undefined ? {} : { apiType }) })
    providers.set(prefix, id)
    await operator.createConnection({ provider: id, apiKey: `canary-${prefix}-0123456789` })
  }
  for (const [provider, baseUrl] of [["gemini", `${sim.url}/v1beta`], ["ollama", sim.url], ["ollama-cloud", sim.url]] as const) {
    providers.set(provider, provider)
    await operator.createConnection({
      provider, apiKey: `canary-${provider}-0123456789`, providerSpecificData: { baseUrl, ...(provider === "ollama" ? { mainFormatOnly: true } : {}) }
    })
  }
  for (const provider of ["chat", "msgs", "resp", "ollama"]) {
    await operator.call("POST", "/api/provider-models", { provider, modelId: "listed", modelName: "Listed" })
  }
  const { key } = await operator.createKey("matrix")
  const rows = async (requestId?: string) => [...await gateway.rows(requestId)].sort((a, b) => a.startedAt - b.startedAt || a.attempt - b.attempt)
  return {
    sim, gateway, url: gateway.url, key, providers,
    model: async (family, face, label, ...scripts) => {
      const prefix = family.prefix(face)
      const name = `${family.stem}-${label}`
      // One script is for every request; of several, each is for one.
      for (const [i, script] of scripts.entries()) await sim.rule({ match: { model: name, ...(scripts.length === 1 ? {} : { nth: i + 1 }) }, script })
      return { id: `${prefix}/${name}`, name }
    },
    arrived: async (family, name) => (await sim.entries({ model: name })).map((entry) => {
      if (!family.path.test(entry.path)) throw new Error(`${name} reached ${entry.path}, which is not ${family.name}`)
      return seen(family.name, entry.body)
    }),
    entries: (name) => sim.entries({ model: name }),
    price: (prefix, model) => operator.price(providers.get(prefix) ?? prefix, model, PRICE),
    rows: (requestId) => rows(requestId),
    rowsOf: (name, count) => eventually(
      async () => (await rows()).filter((row) => row.model === name), (found) => found.length >= count, `${count} rows of ${name}`
    ),
    close: async () => {
      await gateway.close()
      await sim.stop()
    }
  }
}
