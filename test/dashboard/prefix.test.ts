/** The dashboard behind a reverse proxy that serves the gateway below a path: page, files, API, streams and the socket. */
import * as http from "node:http"
import * as net from "node:net"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { canBrowse } from "#test/support/chromium.ts"
import { type Stage, stage, visit } from "#test/support/dashboard.ts"
import * as Http from "#test/support/http.ts"

const prefix = "/a/b"

/** Takes the prefix away, as `proxy_pass http://gateway/` does; everything else is not found. */
const proxyOf = async (target: string) => {
  const { host, hostname, port } = new URL(target)
  const outside: Array<string> = []
  const server = http.createServer((request, response) => {
    const path = request.url ?? ""
    if (!path.startsWith(`${prefix}/`)) {
      outside.push(path)
      response.writeHead(404).end()
      return
    }
    const forward = http.request({ hostname, port, method: request.method, path: path.slice(prefix.length), headers: request.headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(response)
    })
    forward.on("error", () => response.destroy())
    request.pipe(forward)
  })
  server.on("upgrade", (request, socket, head) => {
    const upstream = net.connect(Number(port), hostname, () => {
      const headers = request.rawHeaders.flatMap((value, index) => index % 2 === 0 ? [`${value}: ${request.rawHeaders[index + 1]}`] : [])
      upstream.write(`GET ${(request.url ?? "").slice(prefix.length)} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n`)
      upstream.write(head)
      upstream.pipe(socket)
      socket.pipe(upstream)
    })
    upstream.on("error", () => socket.destroy())
    socket.on("error", () => upstream.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    host,
    outside,
    close: () => new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
}

describe.skipIf(!canBrowse())("the dashboard below a path", () => {
  let on: Stage
  let proxy: Awaited<ReturnType<typeof proxyOf>>
  beforeAll(async () => {
    on = await stage()
    proxy = await proxyOf(on.gateway.url)
  }, 300_000)
  afterAll(async () => {
    await on?.close()
    await proxy?.close()
  })

  it("works as at the root: sign-in, deep addresses, streams, live rows and the way back from the root", async () => {
    const { close, go, page, troubles } = await visit(on.browser, proxy.url)
    onTestFinished(close)
    await page.goto(`${proxy.url}/`)
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`${prefix}/dashboard`)
    await go("/play")
    await page.getByRole("button", { name: "Send" }).click()
    await page.getByText("Done", { exact: true }).waitFor()
    await page.getByRole("link", { name: "Open the request" }).click()
    await page.getByText(/^Answered by sim\/echo/).waitFor()
    expect(new URL(page.url()).pathname).toMatch(/^\/a\/b\/dashboard\/requests\/req_/)
    // A deep address is loaded by itself, too.
    await page.reload()
    await page.getByText(/^Answered by sim\/echo/).waitFor()
    await page.getByRole("navigation", { name: "Screens" }).getByRole("link", { name: "Requests" }).click()
    await page.getByText("Live", { exact: true }).waitFor()
    await Http.send(on.gateway.url, { path: "/v1/chat/completions", body: { model: "sim/unicode", messages: [{ role: "user", content: "Hello" }] } })
    await page.getByRole("table", { name: "Requests", exact: true }).getByText("sim/unicode").waitFor()
    await go("/providers")
    await page.getByRole("button", { name: "Add a connection" }).first().click()
    await page.getByLabel("Provider").fill("sim")
    await page.getByLabel("Name").fill("below a path")
    await page.getByRole("dialog").getByRole("button", { name: "Add the connection" }).click()
    await page.getByRole("row", { name: /below a path/ }).getByText("Works").waitFor()
    await go("/combos")
    await page.getByRole("button", { name: "New combo" }).first().click()
    await page.getByLabel("Name").fill("below")
    await page.getByRole("combobox", { name: "Step 1" }).fill("sim/echo")
    await page.getByRole("list", { name: "Targets" }).getByText("sim/echo").waitFor()
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click()
    await page.getByRole("region", { name: "below" }).waitFor()
    await go("/keys")
    await page.getByRole("button", { name: "Make a key" }).first().click()
    await page.getByRole("dialog").getByLabel("Name").fill("below")
    await page.getByRole("dialog").getByRole("button", { name: "Make the key" }).click()
    await page.getByRole("button", { name: "I have copied it" }).click()
    await go("/play")
    await page.getByText("The same as code").click()
    expect(await page.getByLabel("code", { exact: true }).innerText()).toContain(`${proxy.url}/v1/chat/completions`)
    await go("/work")
    await page.getByLabel("Files to upload").setInputFiles({ name: "below.txt", mimeType: "text/plain", buffer: Buffer.from("below a path") })
    await page.getByRole("button", { name: "Look into below.txt" }).click()
    expect(await page.getByLabel("Content", { exact: true }).innerText()).toBe("below a path")
    expect(await page.getByRole("dialog").getByRole("link", { name: "Download" }).getAttribute("href")).toContain(`${prefix}/api/files/`)
    for (const screen of ["/limits", "/cache", "/leases", "/search", "/agents", "/evals", "/now", "/guardrails", "/proxies", "/backups", "/compression", "/prompts", "/addresses", "/memory", "/skills", "/plugins", "/tasks", "/rules", "/sync", "/tunnels"]) {
      await go(screen)
      await page.reload()
      await page.getByRole("main").getByRole("heading", { level: 1 }).waitFor()
    }
    await go("/backups")
    expect(await page.getByRole("link", { name: "Download" }).getAttribute("href")).toBe(`${proxy.url}/api/db-backups/export`)
    expect(troubles()).toEqual([])
    expect(proxy.outside.filter((path) => path !== "/favicon.ico")).toEqual([])
  }, 180_000)
})
