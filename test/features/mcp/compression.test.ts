/** Tools over compression: what they change acts on prompts, and each caller has the scopes for it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { agentOf, type Audited, type McpLab, startMcp } from "./lab.ts"

let lab: McpLab
beforeAll(async () => {
  lab = await startMcp("streamable-http")
})
afterAll(() => lab.close())

const agent = (...scopes: ReadonlyArray<string>) => agentOf(lab, ...scopes)
const settings = () => lab.gateway.operator.call<Record<string, unknown>>("GET", "/api/settings/compression")
const audited = async (tool: string) => (await lab.gateway.operator.call<{ readonly entries: ReadonlyArray<Audited> }>("GET", `/api/mcp/audit?tool=gateway_${tool}`)).entries

const passage = "Could you please just basically explain, in order to help me out, what it is that this function really does, because I am actually not very sure about it at all?"

describe("the tools of compression", () => {
  it("change the settings, and say what a prompt lost", async () => {
    const own = await agent("read:compression", "write:compression", "execute:completions")
    expect(await own.call("compression_status")).toMatchObject({
      enabled: false, strategy: "off", cacheStats: { totalRequests: 0 }, analytics: { requests: 0 },
      settings: { autoTriggerMode: "lite", maxTokens: 0, targetRatio: 0.5, preserveSystemPrompt: true, mcpDescriptionCompressionEnabled: true }
    })
    const args = { enabled: true, strategy: "standard", autoTriggerMode: "aggressive", maxTokens: 90_000, targetRatio: 0.7, preserveSystemPrompt: false, mcpDescriptionCompressionEnabled: false }
    expect(await own.call("compression_configure", args)).toEqual({
      success: true, settings: args, updated: {
        enabled: true, defaultMode: "standard", autoTriggerMode: "aggressive", autoTriggerTokens: 90_000, ultra: { compressionRate: 0.7 }, preserveSystemPrompt: false,
        mcpDescriptionCompressionEnabled: false
      }
    })
    expect(await settings()).toMatchObject({
      enabled: true, defaultMode: "standard", autoTriggerMode: "aggressive", autoTriggerTokens: 90_000, ultra: { compressionRate: 0.7, minScoreThreshold: 0.3 },
      preserveSystemPrompt: false, mcpDescriptionCompressionEnabled: false
    })
    const reply = await Http.send(lab.gateway.url, {
      path: "/v1/chat/completions", headers: { authorization: `Bearer ${own.key}` }, body: { model: "combo/best", messages: [{ role: "user", content: passage }] }
    })
    expect([reply.status, reply.headers["x-gateway-compression"]]).toEqual([200, expect.stringContaining("standard")])
    await lab.gateway.operator.settled()
    const status = await own.call("compression_status")
    expect(status).toMatchObject({ enabled: true, strategy: "standard", analytics: { requests: 1, modeBreakdown: { standard: { requests: 1 } } } })
    const stats = await own.call("compression_combo_stats", { comboId: "best", since: "7d" })
    expect(stats).toMatchObject({ combo: { requests: 1 }, analytics: { requests: 1 } })
    expect(await own.call("compression_combo_stats", { comboId: stats["comboId"], since: "24h" })).toEqual(stats)
    expect(await own.call("compression_combo_stats")).toEqual({ analytics: stats["analytics"] })
    for (const comboId of ["__proto__", "nothing"]) expect(await own.call("compression_combo_stats", { comboId })).toMatchObject({ error: { code: "not_found" } })
    await own.close()
  })

  it("choose an engine with its intensity, in the pipeline of all engines as well", async () => {
    const own = await agent("write:compression")
    const choose = async (args: Record<string, unknown>) => {
      expect(await own.call("set_compression_engine", args)).toEqual({ success: true, settings: await settings() })
      return await settings()
    }
    await lab.gateway.operator.call("PUT", "/api/settings/compression", { cavemanConfig: { enabled: false }, rtkConfig: { enabled: false } })
    expect(await choose({ engine: "caveman", cavemanIntensity: "ultra", outputMode: true })).toMatchObject({
      enabled: true, defaultMode: "standard", cavemanConfig: { enabled: true, intensity: "ultra" }, rtkConfig: { enabled: false }, cavemanOutputMode: { enabled: true, intensity: "full" }
    })
    expect(await choose({ engine: "rtk", rtkIntensity: "minimal", outputMode: false })).toMatchObject({
      defaultMode: "rtk", rtkConfig: { enabled: true, intensity: "minimal" }, cavemanConfig: { intensity: "ultra" }, cavemanOutputMode: { enabled: false }
    })
    expect(await choose({ engine: "stacked", cavemanIntensity: "lite", rtkIntensity: "aggressive" })).toMatchObject({
      defaultMode: "stacked", stackedPipeline: [{ engine: "rtk", intensity: "aggressive" }, { engine: "caveman", intensity: "lite" }]
    })
    expect(await choose({ engine: "stacked" })).toMatchObject({ stackedPipeline: [{ engine: "rtk", intensity: "aggressive" }, { engine: "caveman", intensity: "lite" }] })
    expect(await choose({ engine: "off" })).toMatchObject({ enabled: false, defaultMode: "off" })
    await own.close()
  })

  it("list the stored pipelines", async () => {
    const own = await agent("read:compression")
    const stored = await lab.gateway.operator.call<{ readonly combos: ReadonlyArray<unknown> }>("GET", "/api/context/combos")
    expect(await own.call("list_compression_combos")).toEqual(stored)
    expect(stored.combos).toMatchObject([{ id: "default-caveman" }])
    await own.close()
  })

  it("refuse what is no argument, callers without their scopes, and leave rows of both", async () => {
    const [own, reader] = [await agent("write:compression"), await agent("read:compression")]
    const before = await settings()
    for (const wrong of [{}, { strategy: "fast" }, { maxTokens: -1 }, { targetRatio: 0 }, { enabled: "yes" }, { mode: "lite" }]) {
      expect(await own.call("compression_configure", wrong)).toMatchObject({ error: { code: "invalid_arguments" } })
    }
    for (const wrong of [{}, { engine: "lite" }, { engine: "rtk", rtkIntensity: "full" }]) expect(await own.call("set_compression_engine", wrong)).toMatchObject({ error: { code: "invalid_arguments" } })
    expect(await reader.call("compression_configure", { enabled: true })).toMatchObject({ error: { code: "scope_denied:write:compression" } })
    expect(await reader.call("set_compression_engine", { engine: "rtk" })).toMatchObject({ error: { code: "scope_denied:write:compression" } })
    for (const tool of ["compression_status", "list_compression_combos", "compression_combo_stats"]) expect(await own.call(tool)).toMatchObject({ error: { code: "scope_denied:read:compression" } })
    expect(await settings()).toEqual(before)
    const rows = await audited("compression_configure")
    expect(rows[0]).toMatchObject({ success: false, errorCode: "scope_denied:write:compression", apiKeyId: reader.id })
    expect(rows.at(-1)).toMatchObject({ success: true, errorCode: null, outputSummary: expect.stringContaining("\"updated\"") as string })
    expect((await audited("compression_status")).at(-1)).toMatchObject({ success: true, outputSummary: null })
    await Promise.all([own.close(), reader.close()])
  })
})
