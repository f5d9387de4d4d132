/** POST /v1/web/fetch over HTTP: what is refused, how each vendor is asked, how the pool is walked, and what the built-in reader makes of pages. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pdfOf } from "#src/simulator/formats/media/pdf.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import type { Headers } from "#test/support/oneShots.ts"
import { eventually } from "#test/support/operator.ts"
import { html, type Pages, startPages } from "#test/support/pages.ts"

const article = `<!doctype html><html><head><title> An  article </title><meta name="description" content="What it says"></head><body><nav><a href="/nav">Navigation</a></nav>
<article><h1>An article</h1><p onclick="steal()">It begins with <b>bold</b> words and a <a href="/next?a=1#part">link</a>. ${"It goes on for a while. ".repeat(20)}</p>
<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table><p><a href="javascript:alert(1)">never</a></p></article>
<script>alert("script")</script><footer>the footer</footer></body></html>`

const served = (bytes: Buffer, type: string): import("#test/support/pages.ts").Page => (response) => response.writeHead(200, { "content-type": type }).end(bytes)

let lab: Lab
let pages: Pages
beforeAll(async () => {
  pages = await startPages({
    "/article": html(article),
    "/short": html("<p>A few words</p>"),
    "/latin": served(Buffer.from("<p>caf\xe9 na\xefve</p>", "latin1"), "text/html; charset=ISO-8859-1"),
    "/meta": served(Buffer.from("<meta charset='windows-1251'><p>\xcf\xf0\xe8\xe2\xe5\xf2</p>", "latin1"), "text/html"),
    "/lying": served(Buffer.from("\ufeff<p>h\u00e9llo</p>", "utf8"), "text/html; charset=windows-1251"),
    "/nonsense": served(Buffer.from("<p>plain</p>"), "text/html; charset=klingon"),
    "/japanese": served(Buffer.from([0x3c, 0x70, 0x3e, 0x93, 0xfa, 0x96, 0x7b]), "text/html; charset=Shift_JIS"),
    "/text": html("line one\nline two https://www.example.com/x", "text/plain"),
    "/json": html("{\"a\": 1}", "application/json"),
    "/paper.pdf": served(pdfOf(["Hello from a paper"]), "application/pdf"),
    "/broken.pdf": served(Buffer.from("%PDF-1.4 this is none"), "application/pdf"),
    "/image": served(Buffer.from("GIF89a"), "image/gif"),
    "/binary": served(Buffer.from([0, 1, 2]), "application/octet-stream"),
    "/large": (response) => {
      response.writeHead(200, { "content-type": "text/html" })
      const more = (): void => {
        while (!response.destroyed && response.write("<p>more</p>".repeat(6_000))) continue
      }
      response.on("drain", more)
      more()
    },
    "/announced": (response) => response.writeHead(200, { "content-type": "text/html", "content-length": String(10 * 1024 * 1024) }).write("x"),
    "/deep": html("<div>".repeat(100_000)),
    "/wide": html("<p></p>".repeat(150_000)),
    "/tags": html("<a ".repeat(1_000_000)),
    "/attributes": html(`<div ${"a=b ".repeat(500_000)}>x</div>`),
    "/moved": (response) => response.writeHead(301, { location: "/article" }).end(),
    "/circle": (response) => response.writeHead(302, { location: "/circle" }).end(),
    "/inside": (response) => response.writeHead(302, { location: "https://127.0.0.1/secret" }).end(),
    "/forbidden": (response) => response.writeHead(403, { "content-type": "text/html" }).end("no"),
    "/slow": (response) => {
      response.writeHead(200, { "content-type": "text/html" })
      response.write("<p>slow")
    },
    "/gzip": (response) => response.writeHead(200, { "content-type": "text/html", "content-encoding": "gzip" }).end("x")
  }, 3_000)
  lab = await startLab({ network: pages.network })
})
afterAll(async () => {
  await lab.close()
  await pages.stop()
})

const send = (body: Readonly<Record<string, unknown>>, headers: Headers = {}) => Http.send(lab.gateway.url, { path: "/v1/web/fetch", headers, body })
interface Answer {
  readonly provider: string
  readonly url: string
  readonly content: string
  readonly links: ReadonlyArray<string>
  readonly metadata: { readonly title: string | null; readonly description: string | null } | null
  readonly screenshot_url: string | null
}
const answerIn = (reply: Http.Reply): Answer => {
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
  return JSON.parse(reply.text) as Answer
}
const at = (path: string): string => `${pages.origin}${path}`

describe("a page", () => {
  it.each([
    [{}, "url"], [{ url: "ftp://upstream.test/" }, "url"], [{ url: "upstream.test" }, "url"], [{ url: "https://me:secret@upstream.test/" }, "url"], [{ url: `https://upstream.test/${"x".repeat(4_100)}` }, "url"],
    [{ format: "pdf" }, "format"], [{ depth: 3 }, "depth"], [{ depth: "1" }, "depth"], [{ wait_for_selector: "x".repeat(257) }, "wait_for_selector"], [{ wait_for_selector: 7 }, "wait_for_selector"],
    [{ include_metadata: "yes" }, "include_metadata"], [{ provider: "" }, "provider"], [{ provider: 7 }, "provider"]
  ])("asked for with %j is refused by the name of its field, and nothing is fetched", async (body, param) => {
    const before = pages.asked.length
    const reply = await send({ ...Object.keys(body).length === 0 ? {} : { url: at("/article") }, ...body })
    expect([reply.status, errorIn(reply)["param"]]).toEqual([400, param])
    expect(reply.text).not.toContain("secret@")
    expect(pages.asked.length).toBe(before)
  })

  it.each([
    ["https://127.0.0.1/a", /127\.0\.0\.1 is refused .*no flag opens others/], ["https://10.1.2.3/a", /10\.1\.2\.3 is refused/], ["http://169.254.169.254/latest/meta-data", /169\.254\.169\.254 is refused/],
    ["https://[::1]/a", /::1.* is refused/], ["https://inside.test/a", /10\.0\.0\.7/], ["https://nowhere.test/a", /cannot be resolved/], ["https://localhost/a", /./]
  ])("at %s is refused for every provider", async (url, message) => {
    const connection = await lab.gateway.operator.createConnection({ provider: "firecrawl", apiKey: "firecrawl-credential-01", providerSpecificData: { baseUrl: `${lab.sim.url}/firecrawl` } })
    for (const provider of ["rs-trafilatura", "firecrawl"]) {
      const reply = await send({ url, provider })
      expect([provider, reply.status, errorIn(reply)["param"], errorIn(reply)["message"]]).toEqual([provider, 400, "url", expect.stringMatching(message)])
    }
    expect(await lab.sim.entries({ path: "/firecrawl/scrape" })).toEqual([])
    await lab.gateway.operator.removeConnection(connection)
  })

  it("asked for with a large body is fetched like with a small one", async () => {
    expect(answerIn(await send({ url: at("/short"), filler: "x".repeat(400_000) })).content).toBe("A few words")
  })

  it("of a provider that is none is refused, and so is one that is not connected", async () => {
    for (const provider of ["nobody", "serper", "openai"]) {
      const reply = await send({ url: at("/article"), provider })
      expect([reply.status, errorIn(reply)["message"]]).toEqual([400, `Unknown fetch provider: ${provider}`])
    }
    const reply = await send({ url: at("/article"), provider: "tinyfish" })
    expect([reply.status, errorIn(reply)["message"]]).toEqual([400, "No credentials for fetch provider: tinyfish"])
  })
})

describe("the built-in reader", () => {
  it("serves where no provider is connected, and gives Markdown of the main text", async () => {
    const reply = await send({ url: at("/article") })
    const answer = answerIn(reply)
    expect(answer).toEqual({ provider: "rs-trafilatura", url: at("/article"), content: expect.any(String), links: [], metadata: null, screenshot_url: null })
    expect(answer.content).toContain(`**bold** words and a [link](${at("/next?a=1")})`)
    expect(answer.content).toContain("| a   | b   |")
    for (const noise of ["Navigation", "alert(", "the footer", "javascript:", "onclick"]) expect(answer.content).not.toContain(noise)
    expect(reply.headers).toMatchObject({ "x-gateway-model": "rs-trafilatura/page", "x-gateway-response-cost": "0.0000000000" })
    expect(await lab.rows(reply)).toMatchObject([{
      endpoint: "/v1/web/fetch", provider: "rs-trafilatura", model: "page", connectionId: null, units: { page: 1 }, costUsd: 0, unpriced: false, outcome: "completed", upstreamStatus: 200
    }])
  })

  it("gives HTML without what runs, links, and metadata", async () => {
    const whole = answerIn(await send({ url: at("/article"), provider: "builtin", format: "HTML", include_metadata: true }))
    expect(whole.metadata).toEqual({ title: "An article", description: "What it says" })
    expect(whole.content).toContain("<b>bold</b>")
    expect(whole.content).not.toMatch(/onclick|<script|javascript:/)
    const { content, links } = answerIn(await send({ url: at("/article"), format: "links" }))
    expect([content, links]).toEqual(["", [at("/nav"), at("/next?a=1")]])
  })

  it.each([
    ["/short", "A few words"], ["/latin", "café naïve"], ["/meta", "Привет"], ["/lying", "héllo"], ["/nonsense", "plain"], ["/japanese", "日本"], ["/text", "line one\nline two https://www.example.com/x"],
    ["/json", "{\"a\": 1}"], ["/paper.pdf", "Hello from a paper"], ["/moved", "bold"]
  ])("reads %s", async (path, text) => {
    expect(answerIn(await send({ url: at(path) })).content).toContain(text)
  })

  it("asks a page of http over https", async () => {
    expect(answerIn(await send({ url: at("/short").replace("https:", "http:") })).content).toBe("A few words")
  })

  it.each([
    ["/missing", /answered with status 404/], ["/forbidden", /answered with status 403/], ["/image", /its content type is 'image\/gif'/], ["/binary", /its content type is 'application\/octet-stream'/],
    ["/large", /it has more than 5242880 bytes/], ["/announced", /it has more than 5242880 bytes/], ["/deep", /it nests more than 512 levels/], ["/wide", /more than 100000 elements/],
    ["/circle", /more than 5 redirects/], ["/inside", /127\.0\.0\.1 is refused/], ["/slow", /did not arrive within 3000 ms/], ["/gzip", /it is compressed/], ["/broken.pdf", /it is damaged/]
  ])("does not read %s, says why, and stays well", async (path, message) => {
    const reply = await send({ url: at(path) })
    expect([reply.status, errorIn(reply)["code"], errorIn(reply)["message"]]).toEqual([422, "page_unreadable", expect.stringMatching(message)])
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "upstream-status", upstreamStatus: 422, units: null, costUsd: 0 }])
    expect(answerIn(await send({ url: at("/short") })).content).toBe("A few words")
  })

  it.each(["/tags", "/attributes"])("survives %s", async (path) => {
    expect([200, 422]).toContain((await send({ url: at(path) })).status)
    expect(answerIn(await send({ url: at("/short") })).content).toBe("A few words")
  })

  it("gives no screenshot, waits for nothing and follows no links", async () => {
    const reply = await send({ url: at("/short"), format: "screenshot" })
    expect([reply.status, errorIn(reply)]).toEqual([400, { message: expect.any(String), type: "invalid_request_error", code: "bad_request", param: "format" }])
    const before = pages.asked.length
    const deep = await send({ url: at("/short"), depth: 2, wait_for_selector: "#app" })
    expect([deep.status, deep.headers["x-gateway-omitted"], pages.asked.length - before]).toEqual([200, "depth, wait_for_selector", 1])
  })

  it("stops when its client leaves", async () => {
    const before = pages.open()
    const { request } = Http.open(lab.gateway.url, { path: "/v1/web/fetch", body: { url: at("/slow") } })
    request.on("error", () => undefined)
    await eventually(async () => pages.open(), (open) => open === before + 1, "the fetch")
    request.destroy()
    await eventually(async () => pages.open(), (open) => open === before, "its end")
    await eventually(async () => (await lab.gateway.rows()).filter(({ outcome }) => outcome === "client-abort"), ({ length }) => length > 0, "its row")
  })

  it("is for keys that may use it", async () => {
    const { operator } = lab.gateway
    const denied = await operator.createKey("no pages", { allowedEndpoints: ["search"] })
    expect((await send({ url: at("/short") }, { authorization: `Bearer ${denied.key}` })).status).toBe(403)
    const granted = await operator.createKey("pages", { allowedEndpoints: ["web-fetch"] })
    expect((await send({ url: at("/short") }, { authorization: `Bearer ${granted.key}` })).status).toBe(200)
  })
})

const bases = { firecrawl: "/firecrawl", "jina-reader": "/jina", "tavily-search": "/tavily", tinyfish: "/tinyfish", "nimble-search": "/nimble" } as const
type Vendor = keyof typeof bases
const paths: Readonly<Record<Vendor, string>> = {
  firecrawl: "/firecrawl/scrape", "jina-reader": "/jina/", "tavily-search": "/tavily/extract", tinyfish: "/tinyfish/", "nimble-search": "/nimble/extract"
}
const order = Object.keys(bases) as ReadonlyArray<Vendor>
const connect = (provider: Vendor) => lab.gateway.operator.createConnection({ provider, apiKey: `${provider}-credential-000001`, providerSpecificData: { baseUrl: `${lab.sim.url}${bases[provider]}` } })

describe("a vendor", () => {
  let connections: ReadonlyArray<string>
  beforeAll(async () => {
    connections = await Promise.all(order.map(connect))
  })
  afterAll(async () => {
    for (const id of connections) await lab.gateway.operator.removeConnection(id)
  })

  const url = () => at("/never")
  it.each([
    ["firecrawl", { formats: ["markdown"], onlyMainContent: true, actions: [{ type: "wait", selector: "#app" }] }, "", { title: "A page", description: "What it says" }, null],
    ["jina-reader", {}, "", { title: "A page", description: "What it says" }, null],
    ["tavily-search", { extract_depth: "basic", format: "markdown" }, "wait_for_selector", { title: null, description: null }, 0.0016],
    ["tinyfish", { format: "markdown" }, "wait_for_selector", { title: "A page", description: "What it says" }, 0],
    ["nimble-search", { formats: ["markdown"] }, "wait_for_selector", { title: null, description: null }, null]
  ] as const)("%s is asked in its own words, and told in one form", async (provider, body, omitted, metadata, price) => {
    const before = pages.asked.length
    const reply = await send({ url: url(), provider, wait_for_selector: "#app", include_metadata: true })
    expect(answerIn(reply)).toEqual({ provider, url: url(), content: expect.stringContaining(`# Page of ${url()}`), links: [], metadata, screenshot_url: null })
    const call = (await lab.sim.entries({ path: paths[provider] })).at(-1)
    expect(call?.body).toEqual({ ...provider === "tavily-search" || provider === "tinyfish" ? { urls: [url()] } : { url: url() }, ...body })
    expect([call?.key?.last4, reply.headers["x-gateway-omitted"] ?? "", pages.asked.length]).toEqual(["0001", omitted, before])
    if (provider === "jina-reader") expect(call?.headers).toMatchObject({ accept: "application/json", "x-return-format": "markdown", "x-wait-for-selector": "#app" })
    expect(await lab.rows(reply)).toMatchObject([{ provider, model: "page", units: { page: 1 }, costUsd: price ?? 0, unpriced: price === null }])
  })

  it.each(order)("%s gives links", async (provider) => {
    const { content, links } = answerIn(await send({ url: url(), provider, format: "links" }))
    expect([content, links]).toEqual(["", ["https://www.example.com/next", "https://www.example.com/other"]])
  })

  it.each(order.filter((provider) => provider !== "tavily-search"))("%s gives HTML", async (provider) => {
    expect(answerIn(await send({ url: url(), provider, format: "html" })).content).toBe(`<h1>Page of ${url()}</h1>`)
  })

  it("gives a screenshot, or refuses to", async () => {
    for (const provider of order) {
      const reply = await send({ url: url(), provider, format: "screenshot" })
      if (provider === "firecrawl" || provider === "jina-reader") {
        expect(answerIn(reply)).toMatchObject({ content: "", screenshot_url: "https://shots.example.com/1.png" })
      } else expect([provider, reply.status, errorIn(reply)["param"]]).toEqual([provider, 400, "format"])
    }
    const tavily = await send({ url: url(), provider: "tavily", format: "html" })
    expect([tavily.status, errorIn(tavily)["param"]]).toEqual([400, "format"])
  })

  it("that has no page says so", async () => {
    const reply = await send({ url: at("/missing"), provider: "tavily" })
    expect([reply.status, errorIn(reply)["message"]]).toEqual([422, "Failed to fetch url"])
  })

  it("that was named answers for itself, and no other is asked", async () => {
    for (const [provider, status] of [["firecrawl", 402], ["firecrawl", 429], ["jina-reader", 500], ["tinyfish", 400], ["nimble-search", 403]] as const) {
      await lab.sim.rule({ match: { path: paths[provider] }, times: 1, script: { status, error: { message: `said ${status}` } } })
      const before = (await lab.sim.entries({})).length
      const reply = await send({ url: url(), provider })
      expect([provider, reply.status, errorIn(reply)["message"], (await lab.sim.entries({})).length - before]).toEqual([provider, status, expect.stringContaining(`said ${status}`), 1])
    }
  })
})
