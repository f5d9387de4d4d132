/** Words of a key's policy that have a known list: one that names nothing is refused by its place in the list. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { endpointNames } from "#schemas/records/ApiKey.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const issuesIn = (reply: { readonly text: string }) => (JSON.parse(reply.text) as { readonly error: { readonly details: unknown } }).error.details

describe.each([
  ["allowedEndpoints", ["chat", "/v1/embeddings"], "web-fetch"],
  ["disabledGuardrails", ["piiMasker", "pii"], "pii-masker"]
])("%s", (field, words, told) => {
  it("refuses a word that names nothing, and lists those that do", async () => {
    const { operator } = lab.gateway
    const key = await operator.createKey("words")
    const refusal = [{ field: `${field}.1`, message: expect.stringContaining(told) as string }]
    for (const reply of [await operator.raw("POST", "/api/keys", { name: "more words", [field]: words }), await operator.raw("PATCH", `/api/keys/${key.id}`, { [field]: words })]) {
      expect([reply.status, issuesIn(reply)]).toEqual([400, refusal])
    }
    expect((await operator.raw("PATCH", `/api/keys/${key.id}`, { [field]: words.slice(0, 1) })).status).toBe(200)
  })
})

it("every word of allowedEndpoints is taken, and keeps a key from the others", async () => {
  for (const name of endpointNames) {
    const key = await lab.gateway.operator.createKey(name, { allowedEndpoints: [name] })
    const reply = await lab.chat({ model: "any" }, { authorization: `Bearer ${key.key}` })
    expect([name, reply.status]).toEqual([name, name === "chat" ? 200 : 403])
  }
})
