/** Signed tool calls of a model, for clients that keep only the standard fields of their format: on one node, and on two that share a Redis. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startSharing } from "#test/support/cluster.ts"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"
import { framesOf } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { canStartRedis } from "#test/support/redis.ts"

const bypass = "skip_thought_signature_validator"
const gemini = families.find(({ name }) => name === "generateContent")!
const old = { ...gemini, stem: "gemini-2.5-flash" }
const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: { at: { type: "string" } } } } }]
const question = { role: "user", content: "What is there?" }
const calling = { reasoning: "I should look.", toolCalls: [{ name: "look", arguments: { at: "door" } }] }

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())

interface Call {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}
interface Said {
  readonly tool_calls?: ReadonlyArray<Call>
}

const auth = (key: string | undefined) => key === undefined ? {} : { authorization: `Bearer ${key}` }

/** First turn of the loop; what a client keeps of its calls that knows the standard fields only. */
const firstTurn = async (url: string, model: string, stream: boolean, key?: string): Promise<ReadonlyArray<Call & { readonly type: "function" }>> => {
  const reply = await Http.send(url, { path: "/v1/chat/completions", headers: auth(key), body: { model, messages: [question], tools, stream } })
  const said = stream
    ? framesOf(reply.text).map((frame) => (frame["choices"] as ReadonlyArray<{ readonly delta: Said }>)[0]?.delta)
    : [(JSON.parse(reply.text) as { readonly choices: ReadonlyArray<{ readonly message: Said }> }).choices[0]?.message]
  const calls = new Map<string, Call>()
  for (const call of said.flatMap((one) => one?.tool_calls ?? [])) if (typeof call.id === "string") calls.set(call.id, call)
  expect(calls.size, reply.text).toBe(1)
  return [...calls.values()].map(({ id, function: { name } }) => ({ id, type: "function", function: { name, arguments: "{\"at\":\"door\"}" } }))
}

const secondTurn = async (url: string, model: string, calls: ReadonlyArray<Call>, key?: string, content = question.content): Promise<void> => {
  const messages = [{ role: "user", content }, { role: "assistant", content: null, tool_calls: calls }, ...calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "A cat." }))]
  const reply = await Http.send(url, { path: "/v1/chat/completions", headers: auth(key), body: { model, messages, tools } })
  expect(reply.status, reply.text).toBe(200)
}

/** The signatures of the newest request that reached a model. */
const sent = async (name: string, family = gemini) => (await matrix.arrived(family, name)).at(-1)?.signatures

/** A signature as the simulator made it. */
const isOriginal = (signatures: ReadonlyArray<string> | undefined): boolean =>
  signatures?.length === 1 && Buffer.from(signatures[0] ?? "", "base64").toString("utf8").includes("sim-thought-")

describe("a signed tool call through a chat client without a field for the signature", () => {
  it.each([["whole", false], ["streamed", true]])("returns to its model with the signature, %s", async (label, stream) => {
    const { id, name } = await matrix.model(gemini, "chat-completions", `loop-${label}`, calling, { text: "A cat." })
    await secondTurn(matrix.url, id, await firstTurn(matrix.url, id, stream, matrix.key), matrix.key)
    expect(await sent(name)).toSatisfy(isOriginal)
  })

  it("returns with the signature in a long conversation, too", async () => {
    const { id, name } = await matrix.model(gemini, "chat-completions", "long", calling, { text: "A cat." })
    const calls = await firstTurn(matrix.url, id, false, matrix.key)
    await secondTurn(matrix.url, id, calls, matrix.key, `${question.content} ${"word ".repeat(80_000)}`)
    expect(await sent(name)).toSatisfy(isOriginal)
  })

  it("a caller without a key has its own; another key's call of the same id does not get it", async () => {
    const { id, name } = await matrix.model(gemini, "chat-completions", "tenants", calling, { text: "A cat." }, { text: "A cat." }, { text: "A cat." })
    const other = await matrix.gateway.operator.createKey("other")
    const calls = await firstTurn(matrix.url, id, false, matrix.key)
    await secondTurn(matrix.url, id, calls, other.key)
    expect(await sent(name)).toEqual([bypass])
    await secondTurn(matrix.url, id, calls)
    expect(await sent(name)).toEqual([bypass])
    await secondTurn(matrix.url, id, calls, matrix.key)
    expect(await sent(name)).toSatisfy(isOriginal)
  })

  it("an unknown call gets the vendor's bypass value where the model demands a signature, and nothing elsewhere", async () => {
    const calls = [{ id: "call_unknown", type: "function", function: { name: "look", arguments: "{}" } }]
    const asked = await matrix.model(gemini, "chat-completions", "unknown", { text: "A cat." })
    await secondTurn(matrix.url, asked.id, calls, matrix.key)
    expect(await sent(asked.name)).toEqual([bypass])
    const older = await matrix.model(old, "chat-completions", "unknown", { text: "A cat." })
    await secondTurn(matrix.url, older.id, calls, matrix.key)
    expect(await sent(older.name, old)).toEqual([])
  })

  it("what one family signed reaches no other", async () => {
    const { id } = await matrix.model(gemini, "chat-completions", "elsewhere", calling)
    const calls = await firstTurn(matrix.url, id, false, matrix.key)
    for (const family of families.filter(({ name }) => name !== "generateContent")) {
      const other = await matrix.model(family, "chat-completions", `elsewhere-${family.name.toLowerCase()}`, { text: "A cat." })
      await secondTurn(matrix.url, other.id, calls, matrix.key)
      const bodies = JSON.stringify((await matrix.entries(other.name)).map(({ body }) => body))
      expect(bodies).toContain("look")
      expect(bodies).not.toMatch(/skip_thought|[sS]ignature/)
    }
  })
})

describe.skipIf(!canStartRedis())("over nodes that share a Redis", () => {
  it("a call that one node answered with returns signed through the other", async () => {
    await using sharing = await startSharing({ provider: "gemini", apiKey: "canary-gemini-0123456789", providerSpecificData: { baseUrl: `${matrix.sim.url}/v1beta` } })
    const { one, two } = sharing
    const { id, name } = await matrix.model(gemini, "chat-completions", "nodes", calling)
    const calls = await firstTurn(one.url, id, true)
    // The other node hears of it beside the answer.
    await eventually(async () => {
      await secondTurn(two.url, id, calls)
      return sent(name)
    }, isOriginal, "the signature on the other node")
  }, 300_000)
})
