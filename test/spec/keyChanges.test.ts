/** Changes of one API key that run at once: none is lost, and no value of it lives on that was replaced or revoked. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Lab, startLab } from "#test/support/lab.ts"

/** Rounds of each race: what is lost in most of them is found. */
const ROUNDS = 8

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const statusOf = async (key: string): Promise<number> => (await lab.chat({ model: "changes" }, { authorization: `Bearer ${key}` })).status
const rounds = Array.from({ length: ROUNDS }, (_, round) => round)

describe("changes of one key at once", () => {
  it("keep what each of them said", async () => {
    const { operator } = lab.gateway
    for (const round of rounds) {
      const { id, key } = await operator.createKey(`round ${round}`)
      const changes = [
        { name: `renamed ${round}` }, { isActive: false }, { noLog: true }, { maxSessions: round + 1 }, { ipAllowlist: ["127.0.0.1"] },
        { blockedModels: ["lab/none"] }, { throttleDelayMs: 5 }, { allowUsageCommand: true }
      ]
      await Promise.all(changes.map((change) => operator.changeKey(id, change)))
      expect(await operator.call("GET", `/api/keys/${id}`)).toMatchObject(Object.assign({}, ...changes) as object)
      expect(await statusOf(key)).toBe(403)
    }
  })

  it("leave a key with the value of the last regeneration, and the old value dead", async () => {
    const { operator } = lab.gateway
    for (const round of rounds) {
      const { id, key: old } = await operator.createKey("regenerated")
      const [{ key }] = await Promise.all([
        operator.call<{ key: string }>("POST", `/api/keys/${id}/regenerate`), operator.changeKey(id, { name: `renamed ${round}` }), operator.changeKey(id, { maxSessions: 9 })
      ])
      expect(await operator.call("GET", `/api/keys/${id}`)).toMatchObject({ name: `renamed ${round}`, maxSessions: 9 })
      expect([await statusOf(old), await statusOf(key)]).toEqual([401, 200])
    }
  })

  it("leave a revoked key revoked", async () => {
    const { operator } = lab.gateway
    for (const round of rounds) {
      const { key, keyId } = await operator.call<{ key: string; keyId: string }>("POST", "/api/v1/registered-keys", { name: "issued" })
      await Promise.all([
        operator.call("POST", `/api/v1/registered-keys/${keyId}/revoke`), operator.changeKey(keyId, { name: `renamed ${round}` }), operator.changeKey(keyId, { maxSessions: 9 })
      ])
      expect(await statusOf(key)).toBe(401)
    }
  })
})
