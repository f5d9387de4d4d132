/** Whose credential embeds for a provider of the environment: a stored key comes first, and the variable is used only where there is none. */
import { afterAll, beforeAll, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ environment: { JINA_API_KEY: "jina-of-environment-0001" } })
})
afterAll(() => lab.close())

const model = "jina-embeddings-v3"
const embed = () => Http.send(lab.gateway.url, { path: "/v1/embeddings", body: { model: `jina/${model}`, input: "a" } })
const usedBy = async (reply: Http.Reply): Promise<string | undefined> => {
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
  return (await lab.sim.entries({ model })).at(-1)?.key?.last4
}

it("the environment's key embeds until one is stored, and again when that is gone", async () => {
  const { operator } = lab.gateway
  const { connections } = await operator.call<{ connections: ReadonlyArray<{ id: string; provider: string; providerSpecificData: Record<string, unknown> }> }>("GET", "/api/providers")
  const [own] = connections.filter(({ provider }) => provider === "jina")
  const baseUrl = `${lab.sim.url}/v1`
  await operator.changeConnection(own?.id ?? "", { providerSpecificData: { ...own?.providerSpecificData, baseUrl } })
  expect(await usedBy(await embed())).toBe("0001")
  const stored = await operator.createConnection({ provider: "jina", apiKey: "jina-of-an-operator-0002", priority: 9, providerSpecificData: { baseUrl } })
  for (let i = 0; i < 3; i++) expect(await usedBy(await embed())).toBe("0002")
  await lab.sim.rule({ match: { model }, times: 1, script: { status: 401 } })
  expect((await embed()).status).toBe(401)
  await operator.changeConnection(stored, { isActive: false })
  expect(errorIn(await embed())["code"]).toBe("ALL_ACCOUNTS_INACTIVE")
  await operator.removeConnection(stored)
  expect(await usedBy(await embed())).toBe("0001")
})
