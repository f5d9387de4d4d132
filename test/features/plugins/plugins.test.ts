/** Plugins over HTTP: their records and lives, what of the machine they are read from, and what their hooks make of conversations. */
import * as fs from "node:fs"
import * as path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Integrity from "#src/features/plugins/integrity.ts"
import * as Http from "#test/support/http.ts"
import { sandboxesOf } from "#test/features/skills/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { at, type PluginsLab, startPlugins } from "./lab.ts"

let lab: PluginsLab
beforeAll(async () => {
  lab = await startPlugins()
})
afterAll(() => lab.close())

const call = <A>(method: string, at: string, body?: unknown) => lab.gateway.operator.call<A>(method, at, body)
const noop = "export const onRequest = () => null"

describe("a plugin", () => {
  it("is installed from its manifest and code, configured, activated, deactivated and removed, and audited", async () => {
    const code = `
      export const onInstall = (_, { plugin }) => { if (plugin.name !== 'all-fields') throw new Error('wrong name') }
      export const onActivate = (_, { config }) => { if (config.level === 'low') throw new Error('too low') }
      export const onDeactivate = () => { throw new Error('not ready') }
      export const onUninstall = () => null`
    const configSchema = {
      level: { type: "select", enum: ["low", "high"], default: "low" }, most: { type: "number", min: 1, max: 5, default: 2 }, text: { type: "string", max: 3 }, on: { type: "boolean" }
    }
    const manifest = {
      name: "all-fields", version: "1.2.3-beta.1", description: "Does nothing", author: "Ada", license: "Apache-2.0", main: "lib/main.mjs", source: "local", tags: ["a"],
      hooks: { onRequest: false, onInstall: true, onActivate: true, onDeactivate: true, onUninstall: true }, configSchema, integrity: Integrity.of(code), enabledByDefault: false,
      hookTimeoutMs: 50, failMode: "closed", requires: { permissions: [] }, skills: [], adminPages: [], dashboardWidgets: []
    }
    const installed = await lab.install(manifest, code)
    expect(installed).toEqual({
      ...manifest, hooks: { onInstall: true, onActivate: true, onDeactivate: true, onUninstall: true }, status: "installed", config: { level: "low", most: 2 },
      installedAt: installed.installedAt, activatedAt: null, errorMessage: null
    })
    expect(await lab.refused("POST", "/api/plugins", { manifest, code })).toEqual([409, "conflict", "The plugin all-fields is installed: uninstall it first"])
    expect(await lab.refused("POST", "/api/plugins/all-fields/activate", {})).toEqual([422, "PLUGIN_FAILED", "onActivate failed: too low"])
    expect(await lab.get("all-fields")).toMatchObject({ status: "error", activatedAt: null, errorMessage: "onActivate failed: too low" })
    for (const [config, field] of [
      [{ level: "none" }, "config.level"], [{ most: 6 }, "config.most"], [{ most: "2" }, "config.most"], [{ text: "long" }, "config.text"], [{ on: 1 }, "config.on"],
      [{ toString: "x" }, "config.toString"], [{ text: 1, on: 1 }, "config.text,config.on"]
    ] as const) expect((await lab.refused("PUT", "/api/plugins/all-fields/config", { config })).slice(0, 2)).toEqual([400, field])
    const config = { level: "high", most: 2, on: true }
    expect(await call("PUT", "/api/plugins/all-fields/config", { config: { level: "high", on: true } })).toEqual({ config, schema: configSchema })
    expect(await call("GET", "/api/plugins/all-fields/config")).toEqual({ config, schema: configSchema })
    const active = await lab.act("all-fields", "activate")
    expect(active).toMatchObject({ status: "active", errorMessage: null, config })
    expect(active.activatedAt).not.toBeNull()
    expect(await lab.act("all-fields", "activate")).toEqual(active)
    expect(await lab.act("all-fields", "deactivate")).toMatchObject({ status: "inactive", activatedAt: null, errorMessage: "onDeactivate failed: not ready" })
    expect((await call<{ plugins: ReadonlyArray<{ name: string }> }>("GET", "/api/plugins")).plugins.map(({ name }) => name)).toEqual(["all-fields"])
    await lab.remove("all-fields")
    for (const [method, at] of [["GET", ""], ["DELETE", ""], ["POST", "/activate"], ["POST", "/deactivate"], ["GET", "/config"]]) {
      expect((await lab.refused(method ?? "", `/api/plugins/all-fields${at}`, method === "POST" ? {} : undefined)).slice(0, 2)).toEqual([404, "not_found"])
    }
    const { text } = await lab.gateway.operator.raw("GET", "/api/compliance/audit-log?limit=50")
    for (const action of ["installed", "activated", "configured", "deactivated", "uninstalled"]) expect(text).toContain(`"plugin.${action}"`)
  })

  it("is refused when its manifest, its code or what it asks for is not taken, and the field is named", async () => {
    const good = { name: "wrong", version: "1.0.0" }
    const manifests: ReadonlyArray<readonly [Record<string, unknown>, string]> = [
      [{ name: "Not Kebab" }, "manifest.name"], [{ name: "__proto__" }, "manifest.name"], [{ version: "1.0" }, "manifest.version"], [{ unknown: 1 }, "manifest.unknown"],
      [{ main: "../index.js" }, "manifest.main"], [{ main: "/index.js" }, "manifest.main"], [{ hooks: { onBoot: true } }, "manifest.hooks.onBoot"],
      [{ hooks: { onRequest: true, onInstall: true } }, "manifest.hooks.onInstall"], [{ integrity: Integrity.of("other") }, "manifest.integrity"], [{ integrity: "md5-x" }, "manifest.integrity"],
      [{ hooks: { onError: true } }, "manifest.hooks.onError"], [{ name: "marketplace" }, "manifest.name"], [{ requires: { permissions: ["network"] } }, "manifest.requires.permissions"], [{ dashboardWidgets: [1] }, "manifest.dashboardWidgets"],
      [{ configSchema: { a: { type: "date" } } }, "manifest.configSchema.a"], [{ configSchema: { a: { type: "select" } } }, "manifest.configSchema.a.enum"],
      [{ configSchema: { a: { type: "number", default: "1" } } }, "manifest.configSchema.a.default"], [{ configSchema: { "a b": { type: "string" } } }, "manifest.configSchema.a b"],
      [{ hookTimeoutMs: 10_001 }, "manifest.hookTimeoutMs"]
    ]
    for (const [fields, field] of manifests) expect([fields, (await lab.refused("POST", "/api/plugins", { manifest: { ...good, ...fields }, code: noop })).slice(0, 2)]).toEqual([fields, [400, field]])
    for (const [body, field] of [
      [{ manifest: good, code: "export const a = ;" }, "code"], [{ manifest: good }, "code"], [{}, "path"], [{ manifest: good, path: "a", code: noop }, "path"], [{ path: "a", code: noop }, "code"],
      [{ manifest: good, code: "c".repeat(262_145) }, "code"], [{ manifest: good, code: "import fs from 'node:fs'" }, "code"]
    ] as const) expect([body, (await lab.refused("POST", "/api/plugins", body)).slice(0, 2)]).toEqual([body, [400, field]])
    expect(await lab.refused("POST", "/api/plugins", { manifest: { ...good, hooks: { onInstall: true } }, code: "export const onInstall = () => { throw new Error('no') }" }))
      .toEqual([422, "PLUGIN_FAILED", "onInstall failed: no"])
    expect((await lab.refused("GET", "/api/plugins/wrong"))[0]).toBe(404)
    expect((await lab.refused("POST", "/api/plugins/marketplace/install", { id: "x" })).slice(0, 2)).toEqual([503, "MARKETPLACE_DISABLED"])
    expect((await lab.refused("GET", "/api/plugins/marketplace")).slice(0, 2)).toEqual([503, "MARKETPLACE_DISABLED"])
  })

  it("is installed from a folder below the allowed one, and from nowhere else", async () => {
    const manifest = { name: "in-folder", version: "1.0.0", hooks: { onRequest: true }, enabledByDefault: true }
    lab.write("good", { "plugin.json": JSON.stringify(manifest), "index.js": noop })
    const { plugin } = await call<{ plugin: Record<string, unknown> }>("POST", "/api/plugins", { path: "good" })
    expect(plugin).toMatchObject({ name: "in-folder", status: "active", integrity: Integrity.of(noop) })
    // What was installed is kept: the folder is not read again.
    fs.writeFileSync(path.join(lab.folder, "good", "index.js"), "throw new Error('changed')")
    await lab.act("in-folder", "deactivate")
    expect(await lab.act("in-folder", "activate")).toMatchObject({ status: "active", integrity: Integrity.of(noop) })
    await lab.remove("in-folder")

    const outside = `${lab.folder}-outside`
    fs.mkdirSync(outside)
    try {
      fs.writeFileSync(path.join(outside, "plugin.json"), JSON.stringify({ ...manifest, name: "outside" }))
      fs.writeFileSync(path.join(outside, "index.js"), noop)
      fs.symlinkSync(outside, path.join(lab.folder, "linked"))
      lab.write("leads-out", { "plugin.json": JSON.stringify({ ...manifest, name: "leads-out" }) })
      fs.symlinkSync(path.join(outside, "index.js"), path.join(lab.folder, "leads-out", "index.js"))
      lab.write("hard", { "plugin.json": JSON.stringify({ ...manifest, name: "hard" }) })
      fs.linkSync(path.join(outside, "index.js"), path.join(lab.folder, "hard", "index.js"))
      lab.write("asks", { "plugin.json": JSON.stringify({ ...manifest, requires: { permissions: ["exec"] } }), "index.js": noop })
      lab.write("broken", { "plugin.json": "[]" })
      fs.mkdirSync(path.join(lab.folder, "directory", "plugin.json"), { recursive: true })
      const below = "The path does not lie below GATEWAY_PLUGINS_DIR"
      for (const [at, field, message] of [
        [outside, "path", below], [`../${path.basename(outside)}`, "path", below], ["linked", "path", below], ["/etc", "path", below], [".", "path", below], ["/no/where", "path", below],
        ["no-where", "path", "The path cannot be read (ENOENT)"], ["leads-out", "path", "index.js lies outside of the folder"], ["hard", "path", "index.js has more than one name (hard links)"],
        ["directory", "path", "plugin.json is no file"], ["broken", "path", "plugin.json holds no JSON object"],
        ["asks", "manifest.requires.permissions", "Part of: Permissions, pages and further hooks of plugins. Only [] is taken"]
      ] as const) expect([at, await lab.refused("POST", "/api/plugins", { path: at })]).toEqual([at, [400, field, message]])
      expect((await call<{ plugins: ReadonlyArray<unknown> }>("GET", "/api/plugins")).plugins).toEqual([])
    } finally {
      fs.rmSync(outside, { recursive: true })
    }
  })
})

describe("onRequest", () => {
  it("may change the body in every format, keeps model and stream, and is told whose request it is", async () => {
    const code = `
      export const onRequest = ({ body, ...about }, { config, plugin }) => {
        const said = JSON.stringify([about.model, about.stream, about.format, about.endpoint, typeof about.requestId, plugin.name, config.word])
        return { body: { ...body, model: 'other/model', stream: true, ...(body.contents ? { contents: [{ role: 'user', parts: [{ text: said }] }] } : { messages: [{ role: 'user', content: said }] }) } }
      }`
    await lab.begin({ name: "changing", hooks: { onRequest: true }, configSchema: { word: { type: "string", default: "one" } } }, code)
    expect((await lab.chat({ model: "changed" })).status).toBe(200)
    expect(await lab.told("changed")).toEqual({ model: "changed", messages: [{ role: "user", content: '["lab/changed",false,"chat-completions","/v1/chat/completions","string","changing","one"]' }] })
    await call("PUT", "/api/plugins/changing/config", { config: { word: "two" } })
    const stream = await lab.stream({ model: "changed" })
    await stream.ended
    expect(await lab.told("changed")).toMatchObject({ stream: true, messages: [{ content: expect.stringContaining('["lab/changed",true,') }] })
    const reply = await Http.send(lab.gateway.url, { path: "/v1beta/models/lab%2Fchanged:generateContent", body: { contents: [{ role: "user", parts: [{ text: "Hi." }] }] } })
    expect(reply.status, reply.text).toBe(200)
    expect(await lab.told("changed")).toEqual({ model: "changed", messages: [{ role: "user", content: '["lab/changed",false,"generateContent","/v1beta/models","string","changing","two"]' }] })
    await lab.remove("changing")
    await lab.chat({ model: "changed" })
    expect(await lab.told("changed")).toMatchObject({ messages: [{ content: "Say something to the point." }] })
  })

  it("may refuse, in the client's words, and the upstream is not asked", async () => {
    await lab.begin({ name: "refusing", hooks: { onRequest: true } }, "exports.onRequest = ({ body }) => JSON.stringify(body).includes('secret') ? { refuse: { message: 'No secrets.', status: 451 } } : {}")
    const refused = await lab.chat({ model: "refused", messages: [{ role: "user", content: "a secret" }] })
    expect([refused.status, at(refused, "error")]).toEqual([451, { message: "No secrets.", type: "invalid_request_error", code: "plugin_refused", plugin: "refusing" }])
    expect(await lab.sim.entries({ model: "refused" })).toEqual([])
    expect((await lab.chat({ model: "refused" })).status).toBe(200)
    await lab.remove("refusing")
  })

  it("that fails lets requests pass, or none, as the manifest says; large bodies are not read", async () => {
    const code = `export const onRequest = ({ body: { messages: [{ content }] } }) => {
      if (content === 'late') for (;;);
      if (content === 'boom') throw new Error('boom')
      if (content === 'shape') return { body: { messages: 'none' } }
      if (content === 'large') return { body: { messages: [{ role: 'user', content: 'x'.repeat(262144) }] } }
      if (content === 'strange') return { bodies: 1 }
      return null
    }`
    const say = (content: string) => lab.chat({ model: "failing", messages: [{ role: "user", content }] })
    const contents = ["boom", "shape", "large", "strange", "late"]
    await lab.begin({ name: "failing", hooks: { onRequest: true }, hookTimeoutMs: 2_000 }, code)
    for (const content of contents) {
      expect([content, (await say(content)).status]).toEqual([content, 200])
      expect(await lab.told("failing")).toMatchObject({ messages: [{ content }] })
    }
    expect((await say("x".repeat(300_000))).status).toBe(200)
    await lab.remove("failing")
    const before = (await lab.sim.entries({ model: "failing" })).length
    await lab.begin({ name: "failing", hooks: { onRequest: true }, failMode: "closed" }, code)
    for (const content of ["boom", "shape", "strange"]) {
      const reply = await say(content)
      expect([content, reply.status, at(reply, "error", "code")]).toEqual([content, 503, "plugin_failed"])
    }
    const large = await say("x".repeat(300_000))
    expect([large.status, at(large, "error", "code")]).toEqual([413, "payload_too_large"])
    expect((await lab.sim.entries({ model: "failing" })).length).toBe(before)
    expect((await say("fine")).status).toBe(200)
    const metrics = await Http.send(lab.gateway.url, { method: "GET", path: "/metrics" })
    const count = (hook: string) => metrics.text.split("\n").filter((line) => line.startsWith("gateway_plugin_calls_total{") && line.includes(`hook="${hook}"`) && line.includes('plugin="failing"') && line.includes('outcome="failed"'))
    expect(count("onRequest").map((line) => line.split(" ").at(-1))).toEqual(["10"])
    await lab.remove("failing")
  })

  it("runs in one process for each plugin, by name, and what one leaves the next one sees", async () => {
    const add = (word: string) => `export const onRequest = ({ body }) => ({ body: { ...body, messages: [...body.messages, { role: 'user', content: '${word}' }] } })`
    await lab.begin({ name: "b-second", hooks: { onRequest: true } }, add("second"))
    await lab.begin({ name: "a-first", hooks: { onRequest: true } }, add("first"))
    await Promise.all(Array.from({ length: 20 }, () => lab.chat({ model: "both" })))
    const entries = await lab.sim.entries({ model: "both" })
    expect(entries.length).toBe(20)
    for (const { body } of entries) expect((body as { messages: ReadonlyArray<{ content: string }> }).messages.map(({ content }) => content)).toEqual(["Say something to the point.", "first", "second"])
    expect(sandboxesOf(process.pid)).toHaveLength(2)
    await lab.gateway.restart()
    await lab.gateway.operator.login()
    await lab.chat({ model: "both" })
    expect((await lab.told("both"))["messages"]).toHaveLength(3)
    await lab.remove("a-first")
    await lab.remove("b-second")
    await eventually(async () => sandboxesOf(process.pid).length, (count) => count === 0, "the end of the sandboxes")
  })
})

describe("onResponse", () => {
  it("may change whole answers; streams and errors pass as they are", async () => {
    await lab.sim.rule({ match: { model: "answered" }, script: { text: "Hello." } })
    await lab.sim.rule({ match: { model: "wrong" }, script: { status: 400, error: { message: "away" } } })
    await lab.begin({ name: "answering", hooks: { onResponse: true } }, `export default { onResponse: async ({ body, model }) => {
      body.choices[0].message.content += ' ' + model
      return { body }
    } }`)
    expect(at(await lab.chat({ model: "answered" }), "choices", 0, "message", "content")).toBe("Hello. lab/answered")
    const stream = await lab.stream({ model: "answered" })
    expect((await stream.ended).text).toContain("Hello.")
    const wrong = await lab.chat({ model: "wrong" })
    expect([wrong.status, at(wrong, "error", "message")]).toEqual([400, expect.stringContaining("away")])
    await lab.remove("answering")
  })

  it("may change responses that are stored, and those that are made in the background", async () => {
    await lab.sim.rule({ match: { model: "answered" }, script: { text: "Hello." } })
    await lab.begin({ name: "keeping", hooks: { onResponse: true }, failMode: "closed" }, `export const onResponse = ({ body }) => {
      for (const item of body.output) for (const part of item.content) part.text = 'masked'
      return { body }
    }`)
    const made = async (more: object) => {
      const reply = await Http.send(lab.gateway.url, { path: "/v1/responses", body: { model: "lab/answered", input: "Hi", ...more } })
      const read = () => Http.send(lab.gateway.url, { path: `/v1/responses/${String(at(reply, "id"))}` })
      return at(await eventually(read, (found) => at(found, "status") === "completed", "the stored response"), "output", 0, "content", 0, "text")
    }
    expect([await made({ store: true }), await made({ background: true })]).toEqual(["masked", "masked"])
    await lab.remove("keeping")
  })

  it("that fails leaves the answer, or lets none pass", async () => {
    const code = "export const onResponse = () => { throw new Error('boom') }"
    await lab.begin({ name: "failing", hooks: { onResponse: true } }, code)
    expect(at(await lab.chat({ model: "answered" }), "choices", 0, "message", "content")).toBe("Hello.")
    await lab.remove("failing")
    await lab.begin({ name: "failing", hooks: { onResponse: true }, failMode: "closed" }, code)
    const refused = await lab.chat({ model: "answered" })
    expect([refused.status, at(refused, "error", "code")]).toEqual([503, "plugin_failed"])
    await lab.remove("failing")
  })
})

describe("onError", () => {
  it("sees errors with their status and may change their words; it refuses nothing by failing", async () => {
    await lab.sim.rule({ match: { model: "wrong" }, script: { status: 400, error: { message: "away" } } })
    await lab.begin({ name: "softening", hooks: { onError: true }, failMode: "closed" }, `export const onError = ({ body, model, status, stream }) => {
      if (stream) throw new Error('boom')
      return { body: { error: { ...body.error, message: [status, model, typeof body.error.message].join() } } }
    }`)
    const wrong = await lab.chat({ model: "wrong" })
    expect([wrong.status, at(wrong, "error", "message")]).toEqual([400, "400,lab/wrong,string"])
    const streamed = await lab.chat({ model: "wrong", stream: true })
    expect([streamed.status, at(streamed, "error", "message")]).toEqual([400, expect.stringContaining("away")])
    expect(at(await lab.chat({ model: "answered" }), "choices", 0, "message", "content")).toBe("Hello.")
    await lab.remove("softening")
    expect(at(await lab.chat({ model: "wrong" }), "error", "message")).toContain("away")
  })
})
