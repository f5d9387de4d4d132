/** An id of automatic routing that is not served says why: the setting, the right of the key, or the ids that there are. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { errorIn, type Lab, messages, startLab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  await lab.gateway.operator.changeConnection(lab.connection, { defaultModel: "any" })
})
afterAll(() => lab.close())

const ask = async (model: string, headers: Readonly<Record<string, string>> = {}) => {
  const reply = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", headers, body: { model, messages } })
  return reply.status === 200 ? [200] : [reply.status, errorIn(reply)["code"], errorIn(reply)["message"]]
}
const missing = (model: string, why: string) => [404, "model_not_found", expect.stringContaining(`Model '${model}' was not found. ${why}`) as string]

it("tells of the setting, the right and the ids", async () => {
  const { operator } = lab.gateway
  expect(await ask("auto")).toEqual([200])
  expect(await ask("auto/fst")).toEqual(missing("auto/fst", "Automatic routing has auto, auto/lkgp, "))
  await operator.call("PATCH", "/api/settings", { autoRoutingDefaultVariant: "chaos" })
  const key = await operator.createKey("chaotic", { chaosModeEnabled: true })
  expect(await ask("auto", { authorization: `Bearer ${key.key}` })).toEqual([200])
  for (const model of ["auto", "auto/chaos"]) expect(await ask(model)).toEqual(missing(model, "It is for API keys with chaosModeEnabled."))
  await operator.call("PATCH", "/api/settings", { autoRoutingEnabled: false })
  for (const model of ["auto", "auto/fast"]) expect(await ask(model)).toEqual(missing(model, "Automatic routing is off: see the setting autoRoutingEnabled."))
  await operator.call("PATCH", "/api/settings", { autoRoutingEnabled: true, autoRoutingDefaultVariant: "lkgp" })
  expect(await ask("auto")).toEqual([200])
})
