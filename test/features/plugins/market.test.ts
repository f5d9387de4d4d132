/** Plugins of a marketplace: found in a list, fetched with the hash that the list says, and checked as any plugin. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Market from "#test/support/market.ts"
import { at, type PluginsLab, startPlugins } from "./lab.ts"

let lab: PluginsLab
let market: Market.Market
const install = (body: Record<string, unknown>) => lab.gateway.operator.call<{ readonly plugin: Record<string, unknown> }>("POST", "/api/plugins/marketplace/install", body)
const refused = async (id: string) => (await lab.refused("POST", "/api/plugins/marketplace/install", { id })).slice(0, 2)
const code = "export const onRequest = () => ({ refuse: { message: 'Not here.' } })"
const plugin = (name: string, more: Record<string, unknown> = {}) => ({ manifest: { name, version: "1.0.0", hooks: { onRequest: true }, hookTimeoutMs: 10_000, ...more }, code })

beforeAll(async () => {
  market = await Market.start("plugins")
  market.offer({ id: "guard", content: plugin("guard", { enabledByDefault: true }), entry: { description: "Refuses", tags: ["rules"] } })
  market.offer({ id: "forged", content: plugin("forged"), entry: { sha256: Market.sha256("other") } })
  market.offer({ id: "codeless", content: { manifest: plugin("codeless").manifest } })
  market.offer({ id: "greedy", content: plugin("greedy", { requires: { permissions: ["network"] } }) })
  market.offer({ id: "unfit", content: plugin("unfit", { hooks: { onResponse: true } }) })
  lab = await startPlugins({ GATEWAY_PLUGINS_MARKET_URL: market.address })
})
afterAll(async () => {
  await lab.close()
  await market.close()
})

describe("the marketplace of plugins", () => {
  it("is searched by words", async () => {
    const found = await lab.gateway.operator.call<{ plugins: ReadonlyArray<Record<string, unknown>>; total: number }>("GET", "/api/plugins/marketplace?q=RULES")
    expect([found.total, found.plugins[0]]).toMatchObject([1, { id: "guard", description: "Refuses", sha256: Market.sha256(JSON.stringify(plugin("guard", { enabledByDefault: true }))) }])
    expect(market.asked).toEqual(["/list?key=x&q=RULES&limit=500"])
  })

  it("gives a plugin that its operator alone activates", async () => {
    const { plugin: installed } = await install({ id: "guard" })
    expect(installed).toMatchObject({ name: "guard", source: "marketplace", status: "installed", enabledByDefault: false })
    expect((await lab.chat({ model: "any" })).status).toBe(200)
    await lab.act("guard", "activate")
    expect(at(await lab.chat({ model: "any" }), "error", "message")).toBe("Not here.")
    expect(await refused("guard")).toEqual([409, "conflict"])
    await lab.remove("guard")
  })

  it("gives nothing that is forged, or that a call would be refused", async () => {
    expect(await refused("forged")).toEqual([422, "INTEGRITY_MISMATCH"])
    expect(await refused("codeless")).toEqual([422, "unprocessable"])
    expect(await refused("greedy")).toEqual([400, "manifest.requires.permissions"])
    expect(await refused("unfit")).toEqual([400, "manifest.hooks.onResponse"])
    expect(await refused("nothing")).toEqual([404, "not_found"])
    expect((await lab.gateway.operator.call<{ plugins: ReadonlyArray<unknown> }>("GET", "/api/plugins")).plugins).toEqual([])
  })
})
