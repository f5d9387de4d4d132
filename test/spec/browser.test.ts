/**
 * Web pages against a gateway without keys on the same machine, in a real browser. What a page could do is judged by the
 * simulator's log, the gateway's records and what the page's own script could read.
 */
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { type Browser, browse, canBrowse } from "#test/support/chromium.ts"
import { type Lab, messages, startLab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"

const body = JSON.stringify({ model: "lab/page", messages })
const rebound = "evil.example"

/** A server of empty pages, at an origin of its own; answers its port and how it ends. */
const servePages = async () => {
  const server = http.createServer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>page</title><body></body>"))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
}

/** A script of a page: each attempt answers the status and the text that it could read, or `blocked`. */
const attempt = (url: string, init: object = {}) => `fetch(${JSON.stringify(url)}, ${JSON.stringify(init)})
  .then(async (reply) => [reply.type, reply.status, await reply.text()], () => ["blocked", 0, ""])`

/** Sends a form into a frame and waits until the frame has loaded. */
const form = (url: string, enctype: string, fields: Readonly<Record<string, string>>) => `new Promise((resolve) => {
  const frame = document.createElement("iframe")
  frame.name = "target"
  document.body.append(frame)
  const form = Object.assign(document.createElement("form"), { action: ${JSON.stringify(url)}, method: "post", enctype: ${JSON.stringify(enctype)}, target: "target" })
  for (const [name, value] of Object.entries(${JSON.stringify(fields)})) form.append(Object.assign(document.createElement("input"), { name, value }))
  document.body.append(form)
  frame.addEventListener("load", () => {
    let text = "unreadable"
    try { text = frame.contentDocument.body.textContent } catch {}
    resolve(text)
  })
  form.submit()
})`

const embed = (tag: "img" | "script", url: string) => `new Promise((resolve) => {
  const element = document.createElement(${JSON.stringify(tag)})
  element.onload = () => resolve("loaded")
  element.onerror = () => resolve("failed")
  element.src = ${JSON.stringify(url)}
  document.body.append(element)
})`

type Read = readonly [type: string, status: number, text: string]

describe.skipIf(!canBrowse())("a web page and a gateway without keys", () => {
  let lab: Lab
  let browser: Browser
  let pages: Awaited<ReturnType<typeof servePages>>
  let port = ""
  let own = ""
  let foreign = ""
  let rebinding = ""
  beforeAll(async () => {
    [lab, browser, pages] = await Promise.all([startLab(), browse([rebound]), servePages()])
    await lab.gateway.operator.call("PUT", "/api/settings/require-login", { requireLogin: false })
    ;({ port } = new URL(lab.gateway.url))
    own = `http://127.0.0.1:${port}`
    foreign = `http://${rebound}:${pages.port}/`
    rebinding = `http://${rebound}:${port}`
  }, 180_000)
  afterAll(() => Promise.all([lab?.close(), browser?.close(), pages?.close()]))
  beforeEach(() => lab.sim.reset())

  /** What no page may change. */
  const nothingHappened = async () => {
    expect(await lab.sim.entries()).toEqual([])
    expect((await lab.gateway.operator.call<{ total: number }>("GET", "/api/keys")).total).toBe(0)
    expect((await lab.gateway.operator.call<{ tokens: ReadonlyArray<unknown> }>("GET", "/api/cli/tokens")).tokens).toEqual([])
    expect((await lab.gateway.operator.call<{ webhooks: ReadonlyArray<unknown> }>("GET", "/api/webhooks")).webhooks).toEqual([])
  }
  const read = (at: string, url: string, init?: object) => browser.evaluate<Read>(at, attempt(url, init))

  it("is served when it is the gateway's own", async () => {
    expect((await read(`${own}/api/health/ping`, "/v1/models"))[1]).toBe(200)
    const init = { method: "POST", headers: { "content-type": "application/json" }, body }
    expect((await read(`${own}/api/health/ping`, "/v1/chat/completions", init)).slice(0, 2)).toEqual(["basic", 200])
    expect(await lab.sim.entries({ model: "page" })).toHaveLength(1)
    expect((await read(`${own}/api/health/ping`, "/api/webhooks"))[1]).toBe(200)
  })

  it("of another origin makes no call by fetch, in any mode and with any type of body", async () => {
    for (const target of [own, `http://localhost:${port}`]) {
      for (const at of [foreign, `http://localhost:${pages.port}/`]) {
        for (const init of [
          { method: "POST", body }, { method: "POST", mode: "no-cors", body }, { method: "POST", mode: "no-cors", headers: { "content-type": "text/plain" }, body },
          { method: "POST", headers: { "content-type": "application/json" }, body }, { method: "POST", mode: "no-cors", referrerPolicy: "no-referrer", body }
        ]) {
          const [type, , text] = await read(at, `${target}/v1/chat/completions`, init)
          expect([at, init, ["blocked", "opaque"].includes(type), text]).toEqual([at, init, true, ""])
        }
      }
    }
    await nothingHappened()
  })

  it("of another origin makes no call by a form, and reads none of its answer", async () => {
    // The names and values of a text/plain form become JSON when they are joined with "=".
    const start = `${body.slice(0, -1)},"x":"`
    for (const [enctype, fields] of [["text/plain", { [start]: `"}` }], ["application/x-www-form-urlencoded", { model: "lab/page" }], ["multipart/form-data", { model: "lab/page" }]] as const) {
      for (const path of ["/v1/chat/completions", "/api/keys", "/api/webhooks"]) {
        expect([enctype, path, await browser.evaluate(foreign, form(`${own}${path}`, enctype, fields))]).toEqual([enctype, path, "unreadable"])
      }
    }
    await nothingHappened()
  })

  it("of another origin changes and reads no management that is open", async () => {
    const calls = [
      ["/api/keys", { method: "POST", mode: "no-cors", body: JSON.stringify({ name: "mine", scopes: ["admin"] }) }],
      ["/api/cli/tokens", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ name: "mine" }) }],
      ["/api/webhooks", { method: "POST", mode: "no-cors", body: JSON.stringify({ url: "https://evil.example/hook", events: ["request.completed"] }) }],
      ["/api/keys", {}], ["/api/settings", {}], ["/api/settings", { mode: "no-cors" }], ["/v1/models", {}], ["/metrics", {}]
    ] as const
    for (const [path, init] of calls) {
      const [type, , text] = await read(foreign, `${own}${path}`, init)
      expect([path, ["blocked", "opaque"].includes(type), text]).toEqual([path, true, ""])
    }
    for (const path of ["/v1/models", "/api/settings"]) {
      expect([await browser.evaluate(foreign, embed("img", `${own}${path}`)), await browser.evaluate(foreign, embed("script", `${own}${path}`))]).toEqual(["failed", "failed"])
    }
    await nothingHappened()
  })

  it("that points its own name at this machine is answered 421 on every surface", async () => {
    for (const [path, init] of [
      ["/v1/models", {}], ["/v1/chat/completions", { method: "POST", headers: { "content-type": "application/json" }, body }], ["/api/settings", {}],
      ["/api/keys", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ name: "mine", scopes: ["admin"] }) }],
      ["/api/webhooks", { method: "POST", headers: { "content-type": "application/json", "x-forwarded-host": "localhost", "x-forwarded-for": "127.0.0.1" }, body: "{}" }],
      ["/metrics", {}], ["/openapi.json", {}], ["/api/health/ping", {}]
    ] as const) {
      // The page is the gateway's answer to the name, so that its script asks the same origin.
      const [type, status, text] = await read(`${rebinding}/`, path, init)
      expect([path, type, status, text.includes("host_not_allowed")]).toEqual([path, "basic", 421, true])
    }
    await nothingHappened()
  })

  it("of a listed origin reads what it calls, and one that is not listed still does not", async () => {
    await lab.gateway.operator.call("PATCH", "/api/settings", { corsOrigins: `http://${rebound}:${pages.port}` })
    try {
      const init = { method: "POST", headers: { "content-type": "application/json", "x-session-id": "s" }, body }
      expect((await read(foreign, `${own}/v1/chat/completions`, init)).slice(0, 2)).toEqual(["cors", 200])
      expect(await lab.sim.entries({ model: "page" })).toHaveLength(1)
      expect((await read(`http://localhost:${pages.port}/`, `${own}/v1/chat/completions`, init))[0]).toBe("blocked")
      expect((await read(foreign, `${own}/api/settings`))[0]).toBe("blocked")
      expect(await lab.sim.entries({ model: "page" })).toHaveLength(1)
    } finally {
      await lab.gateway.operator.call("PATCH", "/api/settings", { corsOrigins: null })
    }
  })

  it("with a key is served from any origin, though without reading the answer", async () => {
    const { id, key } = await lab.gateway.operator.createKey("page")
    expect((await read(foreign, `${own}/v1/chat/completions?key=${key}`, { method: "POST", mode: "no-cors", body }))[0]).toBe("opaque")
    expect(await lab.sim.ended({ model: "page" })).toHaveLength(1)
    expect((await Http.send(own, { path: "/v1/models", headers: { origin: "https://other.example", authorization: `Bearer ${key}` } })).status).toBe(200)
    await lab.gateway.operator.call("DELETE", `/api/keys/${id}`)
  })
})
