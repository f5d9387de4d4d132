/** `auto/<category>:<tier>`: the category and the tier choose among the connections, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { CandidatesView } from "#src/inference/models/autoCandidates.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
/** Two models of one provider: both know tools, one sees, one reasons. */
const [seeing, reasoning] = ["gpt-4o", "o3-mini"]
const price = (amounts: Record<string, number>) =>
  lab.gateway.operator.call("PATCH", "/api/pricing", {
    openai: Object.fromEntries(Object.entries(amounts).map(([model, usd]) => [model, { input: usd, output: usd }]))
  })
beforeAll(async () => {
  lab = await startLab()
  for (const defaultModel of [seeing, reasoning]) {
    const id = await lab.gateway.operator.createConnection({
      provider: "openai", apiKey: `sk-channel-${defaultModel}-00000001`, providerSpecificData: { baseUrl: `${lab.sim.url}/v1` }
    })
    await lab.gateway.operator.changeConnection(id, { defaultModel })
  }
})
afterAll(() => lab.close())

const candidatesOf = async (channel: string): Promise<CandidatesView["candidates"]> => {
  const reply = await Http.send(lab.gateway.url, { path: `/v1/auto-combo/${channel}/candidates` })
  expect(reply.status).toBe(200)
  return (JSON.parse(reply.text) as CandidatesView).candidates
}
/** The models that would be asked, in the order of their names. */
const poolOf = async (channel: string) =>
  (await candidatesOf(channel)).flatMap(({ model, reachable }) => reachable ? [model.replace("openai/", "")] : []).toSorted()

describe("a channel of automatic routing", () => {
  it.each([["chat", [seeing, reasoning]], ["coding", [seeing, reasoning]], ["vision", [seeing]], ["multimodal", [seeing]], ["reasoning", [reasoning]], ["reasoning:fast", [reasoning]]])(
    "%s: asks the models that are known to have what its category needs", async (channel, models) => {
      expect(await poolOf(channel)).toEqual(models)
    }
  )

  it("says which models its category leaves out", async () => {
    expect((await candidatesOf("vision"))[1]).toMatchObject({ model: `openai/${reasoning}`, rank: null, reachable: false, reason: "excluded" })
  })

  it("of tier free asks only what costs nothing, of tier pro only what costs something; a tier that none has asks all", async () => {
    await price({ [seeing]: 3, [reasoning]: 0 })
    expect([await poolOf("chat:free"), await poolOf("chat:pro"), await poolOf("chat:cheap")]).toEqual([[reasoning], [seeing], [seeing, reasoning]])
    // None that sees is free: the category holds, the tier does not.
    expect(await poolOf("vision:free")).toEqual([seeing])
    for (let call = 0; call < 5; call++) {
      const reply = await lab.chat({ model: "auto/chat:free" })
      expect([reply.status, reply.headers["x-gateway-model"]]).toEqual([200, `openai/${reasoning}`])
    }
    await price({ [seeing]: 0 })
    expect(await poolOf("chat:pro")).toEqual([seeing, reasoning])
  })
})
