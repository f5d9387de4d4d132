/** POST /v1/ocr over HTTP: both kinds of servers, one shape, polls inside one attempt, what is refused. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { PublicError } from "#schemas/errors.ts"
import { pdfOf } from "#src/simulator/formats/media/pdf.ts"
import { codec } from "#src/wire/ocr/codec.ts"
import * as OAuthServer from "#test/support/oauthServer.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { publicNames } from "#test/support/pages.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ network: publicNames })
  const { operator } = lab.gateway
  await operator.createConnection({ provider: "mistral", apiKey: "mi-oc-000000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
  await operator.createConnection({ provider: "azure-documents", apiKey: "az-oc-000000000001", providerSpecificData: { baseUrl: lab.sim.url } })
})
afterAll(() => lab.close())

const document = { type: "document_url", document_url: "https://example.com/a.pdf" }
const read = (body: Readonly<Record<string, unknown>>) => Http.send(lab.gateway.url, { path: "/v1/ocr", body })
const seen = (model: string) => lab.sim.entries({ model })
const job = "/documentintelligence/documentModels/prebuilt-layout"

describe("a document", () => {
  it("is read by the usual model when the client names none, and costs what its pages cost", async () => {
    await lab.gateway.operator.price("mistral", "mistral-ocr-latest", { per_page: 0.5 })
    const reply = await read({ document, include_image_base64: false })
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, expect.objectContaining({
      model: "mistral/mistral-ocr-latest", usage_info: expect.objectContaining({ pages_processed: 2 }),
      pages: [expect.objectContaining({ index: 0, markdown: "# Page one of https://example.com/a.pdf" }), expect.objectContaining({ index: 1 })]
    })])
    expect((await seen("mistral-ocr-latest"))[0]?.body).toEqual({ model: "mistral-ocr-latest", document, include_image_base64: false })
    expect(await lab.rows(reply)).toMatchObject([{ endpoint: "/v1/ocr", units: { page: 2 }, costUsd: 1, outcome: "completed" }])
  })

  it("may be a file, whose pages come back and are paid for", async () => {
    await lab.gateway.operator.price("mistral", "oc-file", { per_page: 0.5 })
    const pages = ["first (page)", "second", "third"]
    const reply = await read({ model: "mistral/oc-file", document: { type: "document_url", document_url: `data:application/pdf;base64,${pdfOf(pages).toString("base64")}` } })
    expect((JSON.parse(reply.text) as { pages: ReadonlyArray<{ markdown: string }> }).pages.map(({ markdown }) => markdown)).toEqual(pages)
    expect(await lab.rows(reply)).toMatchObject([{ units: { page: 3 }, costUsd: 1.5 }])
    const cut = await read({ model: "mistral/oc-file", document: `data:application/pdf;base64,${pdfOf(pages).subarray(0, 300).toString("base64")}` })
    expect([cut.status, errorIn(cut)["message"]]).toEqual([400, "The document is no PDF."])
    expect(await lab.rows(cut)).toMatchObject([{ outcome: "upstream-status", units: null, costUsd: 0 }])
  })

  it("may be a plain address, or an image", async () => {
    for (const [given, sent] of [["https://example.com/b.pdf", { type: "document_url", document_url: "https://example.com/b.pdf" }], [{ type: "image_url", image_url: "data:image/png;base64,AAAA" }, { type: "image_url", image_url: "data:image/png;base64,AAAA" }]] as const) {
      expect((await read({ model: "mistral/mistral-ocr-latest", document: given })).status).toBe(200)
      expect((await seen("mistral-ocr-latest")).at(-1)?.body).toMatchObject({ document: sent })
    }
  })

  it("is asked for until its job is over, as one attempt in the clients' shape", async () => {
    const reply = await read({ model: "azure-documents/prebuilt-layout", document, pages: [0] })
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, {
      pages: [{ index: 0, markdown: "# Page one of a job" }, { index: 1, markdown: "The second page." }], model: "azure-documents/prebuilt-layout", usage_info: { pages_processed: 2 }
    }])
    expect(reply.headers["x-gateway-omitted"]).toBe("pages")
    const entries = await seen("prebuilt-layout")
    expect(entries.map(({ method }) => method)).toEqual(["POST", "GET"])
    expect(entries[0]?.body).toEqual({ urlSource: document.document_url })
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed", units: { page: 2 }, final: true }])
  })

  it.each([
    ["a job that failed", { status: 200, body: { status: "failed", error: { code: "InvalidContent", message: "no such page" } } }, 502, "upstream-status"],
    ["a poll that is refused", { status: 500, error: { message: "away" } }, 502, "upstream-status"]
  ])("ends with %s at once", async (_name, script, status, outcome) => {
    await lab.sim.rule({ match: { path: `${job}/analyzeResults/*` }, times: 1, script })
    const reply = await read({ model: "azure-documents/prebuilt-layout", document })
    expect([Math.floor(reply.status / 100), reply.status >= status - 2]).toEqual([5, true])
    expect(await lab.rows(reply)).toMatchObject([{ outcome }])
  })

  it("is not asked for elsewhere than at its own server", async () => {
    await lab.sim.rule({ match: { path: `${job}:analyze` }, times: 1, script: { status: 202, headers: { "Operation-Location": "https://elsewhere.example.com/job/1" }, body: {} } })
    const reply = await read({ model: "azure-documents/prebuilt-layout", document })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([502, "upstream_invalid_response"])
  })

  it("is read in a conversation by a model of a cloud, with a token for the service account of its connection", async () => {
    await using oauth = await OAuthServer.start()
    oauth.clock = () => Date.now() / 1_000
    const { operator } = lab.gateway
    await operator.setFlag("GATEWAY_ALLOW_LOCAL_PROVIDER_URLS", "true")
    await operator.createConnection({ provider: "vertex-partner", apiKey: OAuthServer.serviceAccount(oauth.tokenUrl), providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
    const upstream = "deepseek-ai/deepseek-ocr-maas"
    await operator.price("vertex-partner", upstream, { input: 0, output: 0, per_page: 0.5 })
    await lab.sim.rule({ match: { model: upstream }, script: { text: "# A page of a book" } })
    const reply = await read({ model: `vertex-partner/${upstream}`, document, pages: [0] })
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, {
      pages: [{ index: 0, markdown: "# A page of a book" }], model: `vertex-partner/${upstream}`, usage_info: { pages_processed: 1 }
    }])
    expect(reply.headers["x-gateway-omitted"]).toBe("pages")
    const [entry] = await seen(upstream)
    expect([entry?.path, entry?.body]).toEqual(["/v1/chat/completions", {
      model: upstream, stream: false,
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: document.document_url } }, { type: "text", text: "Convert the document to markdown." }] }]
    }])
    expect([oauth.forms.length, oauth.forms[0]?.["grant_type"], entry?.key === null]).toEqual([1, "urn:ietf:params:oauth:grant-type:jwt-bearer", false])
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed", units: { page: 1 }, costUsd: 0.5, targetFormat: "ocr/chat", tokensIn: expect.any(Number) }])
  })

  it("is given up after thirty questions", () => {
    const running = { status: 200, headers: [], body: Buffer.from("{\"status\":\"running\"}"), failures: 0, elapsedMs: 1 }
    const wanted = { head: { model: "m", stream: false, wantsUsage: false }, note: null, model: "m", now: 0, makeId: () => "1", price: null, elapsed: () => ({ requestMs: 0, callMs: 0 }), estimate: () => 0 }
    expect(codec.pollOf?.("ocr/analyze", { ...running, polls: 29 }, wanted)).toEqual({ url: null, afterMs: 1_000 })
    const over = codec.pollOf?.("ocr/analyze", { ...running, polls: 30 }, wanted)
    expect(over instanceof PublicError && [over.status, over.code]).toEqual([504, "gateway_timeout"])
  })

  it.each([
    ["none", {}, "document"], ["no address", { document: { type: "document_url" } }, "document"], ["a plain http address", { document: "http://example.com/a.pdf" }, "document"],
    ["a file of the host", { document: "file:///etc/passwd" }, "document"], ["another type", { document: { type: "file", document_url: "https://example.com/a.pdf" } }, "document"],
    ["a data: URI without data", { document: "data:application/pdf;base64," }, "document"], ["a data: URI that is no base64", { document: "data:text/plain,hello" }, "document"],
    ["an address of this machine", { document: "https://127.0.0.1/a.pdf" }, "document"], ["an address of an inner network", { document: { type: "image_url", image_url: { url: "https://10.0.0.7/a.png" } } }, "document"],
    ["the address of a cloud's metadata", { document: "https://169.254.169.254/latest" }, "document"], ["an odd list of pages", { document, pages: [-1] }, "pages"], ["a word for pages", { document, pages: "all" }, "pages"],
    ["a word for a flag", { document, include_image_base64: "yes" }, "include_image_base64"]
  ])("is refused when there is %s, and nothing is sent", async (_name, body, param) => {
    for (const model of ["mistral/oc-refused", "azure-documents/oc-refused"]) {
      const reply = await read({ model, ...body })
      expect([reply.status, errorIn(reply)]).toEqual([400, expect.objectContaining({ code: "bad_request", param })])
    }
    expect(await seen("oc-refused")).toEqual([])
  })

  it("may have its pages named", async () => {
    for (const pages of [0, [0, 2], "0-2", "0,3-5", null]) expect([pages, (await read({ model: "mistral/oc-pages", document, pages })).status]).toEqual([pages, 200])
  })
})
