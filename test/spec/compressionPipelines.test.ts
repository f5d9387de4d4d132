/** Stored pipelines of compression (/api/context/combos), over HTTP: their records, who has which, and what each says of a request. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import * as Refusal from "#schemas/api/Refusal.ts"
import { compressionDefaults } from "#schemas/words/Compression.ts"
import { type Pipeline as PipelineRecord, pipelinesOf } from "#schemas/words/CompressionPipeline.ts"
import * as Pipelines from "#src/features/compression/pipelines/pipelines.ts"
import { type Family, families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"

const path = "/api/context/combos"
let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())
afterEach(async () => {
  await put({ enabled: false, defaultMode: "off", autoTriggerTokens: 0, comboOverrides: {}, compressionComboId: null, cavemanConfig: { enabled: true }, rtkConfig: { enabled: true } })
  await raw("PUT", `${path}/default-caveman`, { isDefault: true, pipeline: standard })
  for (const { id, isBuiltIn } of (await call<{ combos: ReadonlyArray<Pipeline> }>("GET", path)).combos) if (!isBuiltIn) await call("DELETE", `${path}/${id}`)
})

interface Pipeline {
  readonly id: string
  readonly name: string
  readonly isBuiltIn: boolean
  readonly [field: string]: unknown
}
const standard = [{ engine: "rtk", intensity: "standard" }, { engine: "caveman", intensity: "full" }]
const call = <A>(method: string, where: string, body?: unknown) => matrix.gateway.operator.call<A>(method, where, body)
const put = (change: Record<string, unknown>) => call<Record<string, unknown>>("PUT", "/api/settings/compression", change)
const raw = async (method: string, where: string, body?: unknown) => {
  const { status, text } = await matrix.gateway.operator.raw(method, where, body)
  const { error } = JSON.parse(text) as { readonly error?: { readonly code: string; readonly details?: ReadonlyArray<{ readonly field: string }> } }
  return [status, error?.code, error?.details?.[0]?.field]
}
const create = (name: string, more: Record<string, unknown> = {}) => call<Pipeline>("POST", path, { name, pipeline: [{ engine: "caveman", intensity: "ultra" }], ...more })
const builtIn = {
  id: "default-caveman", name: "Standard Savings", description: "Output of commands without noise, then prose by rules.", pipeline: standard, languagePacks: [], outputMode: false,
  outputModeIntensity: "full", isDefault: true, routingComboIds: [], createdAt: "1970-01-01T00:00:00.000Z", updatedAt: "1970-01-01T00:00:00.000Z", isBuiltIn: true
}

const question = "Hello there, could you please explain, in order to help me, why the tests fail in `the file` at the moment? It is basically wrong."
const full = "explain, to help me, why tests fail in `the file` at moment? It is wrong."
const ultra = "explain, to help me, why tests fail in `the file` at moment? Is wrong."

const model = (name: string) => matrix.model(families.find((one) => one.name === "chat-completions") as Family, "chat-completions", name)
const send = async (name: string, header?: string, content = question) => {
  const reply = await Http.send(matrix.gateway.url, {
    path: "/v1/chat/completions", headers: { authorization: `Bearer ${matrix.key}`, ...header === undefined ? {} : { "x-gateway-compression": header } },
    body: { model: name, messages: [{ role: "user", content }] }
  })
  expect(reply.status, reply.text).toBe(200)
  return reply.headers["x-gateway-compression"]
}
const said = async (name: string): Promise<unknown> => {
  const { messages } = JSON.parse(JSON.stringify((await matrix.entries(name)).at(-1)?.body)) as { readonly messages: ReadonlyArray<{ readonly content: unknown }> }
  return messages.at(-1)?.content
}

describe("the records", () => {
  it("are the built-in one at first, then those that are stored, read one by one and all at once", async () => {
    expect(await call("GET", path)).toEqual({ combos: [builtIn] })
    const given = {
      description: "Of the house.", pipeline: [{ engine: "lite" }, { engine: "caveman", intensity: "lite", config: { skipRules: ["please"] } }], languagePacks: ["de", "en"], outputModeIntensity: "ultra"
    }
    const made = await create("Mine", given)
    expect(made).toEqual({
      ...given, id: made.id, name: "Mine", outputMode: false, isDefault: false, routingComboIds: [], createdAt: made["createdAt"], updatedAt: made["createdAt"], isBuiltIn: false
    })
    expect(await call("GET", `${path}/${made.id}`)).toEqual(made)
    expect(await call("GET", path)).toEqual({ combos: [builtIn, made] })
    const changed = await call<Pipeline>("PUT", `${path}/${made.id}`, { name: "Other", languagePacks: [] })
    expect(changed).toEqual({ ...made, name: "Other", languagePacks: [], updatedAt: changed["updatedAt"] })
    expect(await call("DELETE", `${path}/${made.id}`)).toEqual({ success: true })
    expect(await raw("GET", `${path}/${made.id}`)).toEqual([404, "not_found", undefined])
    // They have their own paths, and are no line of the other settings.
    expect(Object.keys(await call<object>("GET", "/api/settings")).includes("compressionCombos")).toBe(false)
    const { entries } = await call<{ entries: ReadonlyArray<{ action: string }> }>("GET", "/api/audit?limit=20").catch(() => ({ entries: [] }))
    for (const one of entries.length === 0 ? [] : ["created", "updated", "deleted"]) expect(entries.map(({ action }) => action)).toContain(`compression.combo.${one}`)
  })

  it.each([
    ["POST", path, { name: "x" }, [400, "bad_request", "pipeline"]], ["POST", path, { name: "", pipeline: standard }, [400, "bad_request", "name"]],
    ["POST", path, { name: "x".repeat(121), pipeline: standard }, [400, "bad_request", "name"]], ["POST", path, { name: "x", pipeline: [] }, [400, "bad_request", "pipeline"]],
    ["POST", path, { name: "x", pipeline: standard, description: "x".repeat(1_001) }, [400, "bad_request", "description"]],
    ["POST", path, { name: "x", pipeline: [{ engine: "llmlingua" }] }, [400, "bad_request", "pipeline.0.engine"]],
    ["POST", path, { name: "x", pipeline: [{ engine: "lite", intensity: "full" }] }, [400, "bad_request", "pipeline.0.intensity"]],
    ["POST", path, { name: "x", pipeline: [{ engine: "caveman", config: { preservePatterns: ["(a)\\1"] } }] }, [400, "bad_request", "pipeline.0.config.preservePatterns.0"]],
    ["POST", path, { name: "x", pipeline: [{ engine: "rtk", config: { disabledFilters: ["nothing"] } }] }, [400, "bad_request", "pipeline.0.config.disabledFilters.0"]],
    ["POST", path, { name: "x", pipeline: standard, languagePacks: ["la"] }, [400, "bad_request", "languagePacks.0"]],
    ["POST", path, { name: "STANDARD savings", pipeline: standard }, [409, "conflict", undefined]],
    ["PUT", `${path}/nothing`, { name: "y" }, [404, "not_found", undefined]], ["DELETE", `${path}/nothing`, undefined, [404, "not_found", undefined]],
    ["GET", `${path}/nothing`, undefined, [404, "not_found", undefined]], ["GET", `${path}/nothing/assignments`, undefined, [404, "not_found", undefined]],
    ["PUT", `${path}/nothing/assignments`, { routingComboIds: [] }, [404, "not_found", undefined]],
    ["PUT", `${path}/default-caveman`, {}, [400, "bad_request", undefined]], ["PUT", `${path}/default-caveman`, { name: "Mine" }, [400, "bad_request", "name"]],
    ["PUT", `${path}/default-caveman`, { description: "Mine" }, [400, "bad_request", "description"]], ["PUT", `${path}/default-caveman`, { isDefault: false }, [400, "bad_request", "isDefault"]],
    ["DELETE", `${path}/default-caveman`, undefined, [409, "conflict", undefined]],
    ["PUT", `${path}/default-caveman/assignments`, { routingComboIds: ["nothing"] }, [400, "bad_request", "routingComboIds.0"]]
  ])("%s %s refuses %j with %j", async (method, where, body, expected) => {
    expect(await raw(method, where, body)).toEqual(expected)
  })

  it("are a hundred at most beside the built-in one", () => {
    const input = { name: "one more", pipeline: [{ engine: "lite" as const }] }
    const all = Array.from({ length: 100 }, (_, i) => i).reduce<ReadonlyArray<PipelineRecord>>((before, i) => {
      const after = Pipelines.added(before, { ...input, name: `p${i}` }, { id: `id${i}`, now: "" })
      return after instanceof Refusal.Refusal ? [] : after
    }, pipelinesOf(new Map(), compressionDefaults))
    expect(all.length).toBe(101)
    expect(Pipelines.added(all, input, { id: "id", now: "" })).toMatchObject({ _tag: "Refusal" })
  })

  it("have each name once", async () => {
    const [, second] = [await create("First"), await create("Second")]
    expect(await raw("PUT", `${path}/${second.id}`, { name: "FIRST" })).toEqual([409, "conflict", undefined])
    expect(await raw("PUT", `${path}/${second.id}`, { name: "SECOND" })).toEqual([200, undefined, undefined])
  })

  it("have one default: another one takes its place, and the built-in one when that is deleted", async () => {
    const [first, second] = [await create("First", { isDefault: true }), await create("Second")]
    const defaults = async () => (await call<{ combos: ReadonlyArray<Pipeline> }>("GET", path)).combos.filter(({ isDefault }) => isDefault).map(({ name }) => name)
    expect(await defaults()).toEqual(["First"])
    await call("PUT", `${path}/${second.id}`, { isDefault: true })
    expect(await defaults()).toEqual(["Second"])
    await call("DELETE", `${path}/${second.id}`)
    expect([await defaults(), first.id === second.id]).toEqual([["Standard Savings"], false])
  })

  it("share the built-in one's engines with the setting stackedPipeline", async () => {
    await call("PUT", `${path}/default-caveman`, { pipeline: [{ engine: "lite" }] })
    expect(await call("GET", "/api/settings/compression")).toMatchObject({ stackedPipeline: [{ engine: "lite" }] })
    await put({ stackedPipeline: standard })
    expect(await call("GET", `${path}/default-caveman`)).toMatchObject({ pipeline: standard })
  })

  it("belong to combos: one each, and none to a combo that is gone", async () => {
    const one = await model("assigned")
    const combo = async (name: string) => (await call<{ id: string }>("POST", "/api/combos", { name, models: [one.id] })).id
    const [a, b] = [await combo("assigned-a"), await combo("assigned-b")]
    const [first, second] = [await create("First"), await create("Second")]
    const of = async ({ id }: Pipeline) => (await call<{ assignments: ReadonlyArray<unknown> }>("GET", `${path}/${id}/assignments`)).assignments
    const said = ({ id }: Pipeline, routingComboId: string, routingComboName: string) => ({ compressionComboId: id, routingComboId, routingComboName })
    expect(await call("PUT", `${path}/${first.id}/assignments`, { routingComboIds: [a, b, a] })).toEqual({ assignments: [said(first, a, "assigned-a"), said(first, b, "assigned-b")] })
    await call("PUT", `${path}/${second.id}/assignments`, { routingComboIds: [b] })
    expect([await of(first), await of(second)]).toEqual([[said(first, a, "assigned-a")], [said(second, b, "assigned-b")]])
    await call("DELETE", `/api/combos/${a}`)
    expect([await of(first), (await call<Pipeline>("GET", `${path}/${first.id}`))["routingComboIds"]]).toEqual([[], []])
  })

  it("are kept over changes that come at once", async () => {
    await Promise.all(Array.from({ length: 8 }, (_, i) => create(`at once ${i}`)))
    expect((await call<{ combos: ReadonlyArray<Pipeline> }>("GET", path)).combos.length).toBe(9)
  })
})

describe("what a request has", () => {
  it("follows the header, the combo, the active pipeline, the length and the default, in this order", async () => {
    const one = await model("order")
    const { id: comboId } = await call<{ id: string }>("POST", "/api/combos", { name: "ordered", models: [one.id] })
    const strong = await create("Strong")
    const plain = await create("Plain", { pipeline: [{ engine: "lite" }] })
    await put({ enabled: true, defaultMode: "lite", autoTriggerMode: "rtk", autoTriggerTokens: 10 })
    expect(await send("combo/ordered")).toBe("rtk; source=auto-trigger")
    await put({ compressionComboId: plain.id })
    expect(await send("combo/ordered")).toBe("stacked; source=active-profile")
    expect(await said(one.name)).toBe(question)
    await call("PUT", `${path}/${strong.id}/assignments`, { routingComboIds: [comboId] })
    expect(await send("combo/ordered")).toBe("stacked; source=routing-override")
    expect(await said(one.name)).toBe(ultra)
    expect(await send(one.id)).toBe("stacked; source=active-profile")
    await call("PUT", `/api/combos/${comboId}`, { compressionOverride: "rtk" })
    expect(await send("combo/ordered")).toBe("stacked; source=routing-override")
    await put({ comboOverrides: { [comboId]: "off" } })
    expect(await send("combo/ordered")).toBe("off; source=routing-override")
    for (const header of ["Standard Savings", "standard SAVINGS", "default-caveman"]) {
      expect([header, await send("combo/ordered", header), await said(one.name)]).toEqual([header, "stacked; source=request-header", full])
    }
    expect([await send(one.id, strong.id), await said(one.name)]).toEqual(["stacked; source=request-header", ultra])
    expect(await send(one.id, "no such pipeline")).toBe("stacked; source=active-profile")
    expect(await raw("DELETE", `${path}/${plain.id}`)).toEqual([409, "conflict", undefined])
    await put({ enabled: false })
    for (const header of ["Strong", strong.id]) expect([header, await send("combo/ordered", header), await said(one.name)]).toEqual([header, "off; source=off", question])
  })

  it("has a pipeline that is called off or default by its id alone", async () => {
    const one = await model("reserved")
    const [off, standing] = [await create("Off"), await create("default")]
    await put({ enabled: true, defaultMode: "lite" })
    expect(await send(one.id, "off")).toBe("off; source=request-header")
    expect(await send(one.id, "default")).toBe("lite; source=request-header")
    for (const { id } of [off, standing]) expect([await send(one.id, id), await said(one.name)]).toEqual(["stacked; source=request-header", ultra])
  })

  it("runs the default pipeline in mode stacked", async () => {
    const one = await model("default")
    await put({ enabled: true, defaultMode: "stacked" })
    expect([await send(one.id), await said(one.name)]).toEqual(["stacked; source=default", full])
    await create("Strong", { isDefault: true })
    expect([await send(one.id), await said(one.name)]).toEqual(["stacked; source=default", ultra])
    const preview = { mode: "stacked", messages: [{ role: "user", content: question }] }
    expect(await call("POST", "/api/compression/preview", preview)).toMatchObject({ intensity: "ultra", compressed: [{ content: ultra }] })
    expect(await call("POST", "/api/compression/preview", { ...preview, config: { stackedPipeline: standard } })).toMatchObject({ intensity: "full", compressed: [{ content: full }] })
  })

  it("obeys the pipeline's own settings of an engine, its languages, and an engine that is off", async () => {
    const one = await model("own")
    await put({ enabled: true })
    await create("Careful", { pipeline: [{ engine: "caveman", intensity: "ultra", config: { minMessageLength: 1_000 } }] })
    expect([await send(one.id, "careful"), await said(one.name)]).toEqual(["stacked; source=request-header", question])
    const german = "Hallo, bitte erkläre mir, wie das Programm funktioniert und was die Datei macht. Vielen Dank im Voraus!"
    await create("German", { pipeline: [{ engine: "caveman", intensity: "lite" }], languagePacks: ["de"] })
    await send(one.id, "german", german)
    expect(await said(one.name)).toBe("erkläre mir, wie das Programm funktioniert und was die Datei macht.")
    await put({ cavemanConfig: { enabled: false } })
    expect(await send(one.id, "german", german)).toBe("off; source=off")
    expect(await send(one.id, "standard savings")).toBe("stacked; source=request-header")
  })
})
