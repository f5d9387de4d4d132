/** The built-in reader with GATEWAY_WEB_FETCH_ROBOTS=obey. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { html, type Pages, startPages } from "#test/support/pages.ts"

let robots = { status: 200, text: "User-agent: gateway\nDisallow: /closed\n" }
const siteOf = () => startPages({
  "/robots.txt": (response) => response.writeHead(robots.status, { "content-type": "text/plain" }).end(robots.text),
  "/open": html("<p>An open page</p>"),
  "/closed": html("<p>A closed page</p>"),
  "/moved": (response) => response.writeHead(301, { location: "/closed" }).end()
})

const withLab = async (environment: Readonly<Record<string, string>>, use: (pages: Pages, lab: Lab) => Promise<void>) => {
  const pages = await siteOf()
  const lab = await startLab({ network: pages.network, environment })
  try {
    await use(pages, lab)
  } finally {
    await lab.close()
    await pages.stop()
  }
}

describe("a reader that obeys robots.txt", () => {
  let lab: Lab
  let pages: Pages
  beforeAll(async () => {
    pages = await siteOf()
    lab = await startLab({ network: pages.network, environment: { GATEWAY_WEB_FETCH_ROBOTS: "obey" } })
  })
  afterAll(async () => {
    await lab.close()
    await pages.stop()
  })
  const send = (path: string) => Http.send(lab.gateway.url, { path: "/v1/web/fetch", body: { url: `${pages.origin}${path}`, provider: "rs-trafilatura" } })

  it("reads what is open, refuses what is closed, also behind a redirect, and asks the site once", async () => {
    expect(JSON.parse((await send("/open")).text)).toMatchObject({ content: "An open page" })
    for (const path of ["/closed", "/moved"]) {
      const reply = await send(path)
      expect([path, reply.status, errorIn(reply)["message"]]).toEqual([path, 422, expect.stringContaining("robots.txt forbids it") as string])
    }
    expect(pages.asked.filter((path) => path === "/robots.txt")).toEqual(["/robots.txt"])
  })
})

describe("a site whose robots.txt", () => {
  it.each([[404, 200], [403, 200], [500, 422]] as const)("answers %i has its pages answered with %i", async (status, expected) => {
    robots = { status, text: "User-agent: *\nDisallow: /\n" }
    await withLab({ GATEWAY_WEB_FETCH_ROBOTS: "obey" }, async (pages, lab) => {
      const reply = await Http.send(lab.gateway.url, { path: "/v1/web/fetch", body: { url: `${pages.origin}/open` } })
      expect([reply.status, status === 500 ? errorIn(reply)["message"] : ""]).toEqual([expected, status === 500 ? expect.stringContaining("its robots.txt was not read") : ""])
    })
  })

  it("closes everything is read by default, for its caller named the page", async () => {
    robots = { status: 200, text: "User-agent: *\nDisallow: /\n" }
    await withLab({}, async (pages, lab) => {
      expect((await Http.send(lab.gateway.url, { path: "/v1/web/fetch", body: { url: `${pages.origin}/closed` } })).status).toBe(200)
      expect(pages.asked).toEqual(["/closed"])
    })
  })
})
