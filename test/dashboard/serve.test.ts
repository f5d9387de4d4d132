/** How the gateway serves the dashboard: addresses, headers, forms of files, and what happens without it. */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as zlib from "node:zlib"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { baseOf } from "#src/features/dashboard/Dashboard.ts"
import * as StoredFiles from "#src/features/dashboard/StoredFiles.ts"
import { build, folder } from "#test/support/dashboard.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"

let gateway: InProcess
beforeAll(async () => {
  build()
  gateway = await inProcess()
})
afterAll(() => gateway.close())

const get = (at: string, headers: Record<string, string> = {}, method = "GET") => fetch(`${gateway.url}${at}`, { method, headers, redirect: "manual" })
const browser = { accept: "text/html,application/xhtml+xml" }

/** The page's script, as the page names it. */
const scriptOf = (html: string): string => /src="\.\/(assets\/[^"]+\.js)"/.exec(html)?.[1] ?? ""

describe("the page", () => {
  it("is served at every screen's address, is never stored, and allows no script, frame or host but its own", async () => {
    for (const at of ["/dashboard", "/dashboard/", "/dashboard/providers", "/dashboard/requests/abc-1"]) {
      const reply = await get(at)
      expect([at, reply.status, reply.headers.get("content-type"), reply.headers.get("cache-control")]).toEqual([at, 200, "text/html; charset=utf-8", "no-store"])
      const policy = reply.headers.get("content-security-policy") ?? ""
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
      for (const part of ["require-trusted-types-for 'script'", "frame-ancestors 'none'", "base-uri 'self'", "connect-src 'self'"]) expect(policy).toContain(part)
      expect(policy).not.toMatch(/unsafe|https?:|\*/)
      expect(reply.headers.get("x-content-type-options")).toBe("nosniff")
      const html = await reply.text()
      expect(html).not.toMatch(/<script(?![^>]* src="\.\/assets\/)|<style|https?:\/\//)
      // Its relative addresses lead to the dashboard's folder from wherever it was asked.
      const base = new URL(/<base href="([^"]*)">/.exec(html)?.[1] ?? "", `http://proxy.example/a/b${at}`)
      expect(base.href).toBe("http://proxy.example/a/b/dashboard/")
    }
  })

  it("leads back to its folder from any depth", () => {
    expect([baseOf("/dashboard"), baseOf("/dashboard/"), baseOf("/dashboard/requests"), baseOf("/dashboard/requests/x")]).toEqual(["dashboard/", "./", "./", "../"])
  })

  it("has the theme of its viewer's cookie, and of no other text in it", async () => {
    const html = async (cookie: string) => /<html[^>]*>/.exec(await (await get("/dashboard", { cookie })).text())?.[0]
    expect(await html("gateway_theme=dark")).toBe("<html lang=\"en\" data-theme=\"dark\">")
    expect(await html("gateway_theme=\"><script>")).toBe("<html lang=\"en\">")
  })

  it("is where a browser goes from the root; curl and programs read on there as before", async () => {
    const reply = await get("/", browser)
    // Relative, so that a proxy's prefix stays.
    expect([reply.status, reply.headers.get("location")]).toEqual([302, "dashboard"])
    expect((await get("/", { accept: "*/*" })).headers.get("content-type")).toBe("text/plain; charset=utf-8")
    expect((await get("/", { accept: "application/json" })).headers.get("content-type")).toContain("application/json")
  })
})

describe("its files", () => {
  it("are compressed before, immutable, and the same in every form", async () => {
    const at = `/dashboard/${scriptOf(await (await get("/dashboard")).text())}`
    expect(at).toMatch(/^\/dashboard\/assets\/[\w-]+\.js$/)
    const file = fs.readFileSync(path.join(folder, "dist", at.replace("/dashboard/", "")))
    for (const [asked, coding] of [["br, gzip", "br"], ["gzip", "gzip"], ["identity", null], ["br;q=0, gzip", "gzip"]] as const) {
      const reply = await get(at, { "accept-encoding": asked })
      expect([asked, reply.status, reply.headers.get("content-encoding"), reply.headers.get("vary")]).toEqual([asked, 200, coding, "accept-encoding"])
      expect(reply.headers.get("cache-control")).toBe("public, max-age=31536000, immutable")
      expect(reply.headers.get("content-type")).toBe("text/javascript; charset=utf-8")
      expect(Buffer.from(await reply.arrayBuffer()).equals(file)).toBe(true)
    }
    const head = await get(at, { "accept-encoding": "br" }, "HEAD")
    expect([head.status, await head.text()]).toEqual([200, ""])
  })

  it("are files of the build and nothing else", async () => {
    const strange = [
      "/dashboard/assets/none.js", "/dashboard/assets/index.html", "/dashboard/assets/%2e%2e%2findex.html", "/dashboard/assets/..%2f..%2fpackage.json", "/dashboard/assets/.stamp",
      "/dashboard/a/b/c", "/Dashboard", "/dashboard/assets/"
    ]
    for (const at of strange) {
      const reply = await get(at)
      expect([at, reply.status]).toEqual([at, at === "/dashboard/assets/" ? reply.status : 404])
      expect(await reply.text()).not.toMatch(/"name": "gateway"/)
    }
  })
})

describe("without a dashboard", () => {
  it("GATEWAY_DASHBOARD=off answers 404 there, and the root shows a browser what to do", async () => {
    const plain = await inProcess({ environment: { GATEWAY_DASHBOARD: "off" } })
    onTestFinished(plain.close)
    expect((await fetch(`${plain.url}/dashboard`)).status).toBe(404)
    const root = await fetch(plain.url, { headers: browser, redirect: "manual" })
    expect([root.status, root.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"])
  })

  it("a build that is not there yet is found once it is", async () => {
    const place = fs.mkdtempSync(path.join(os.tmpdir(), "dashboard-"))
    onTestFinished(() => fs.rmSync(place, { recursive: true }))
    const files = StoredFiles.make(true, place)
    expect(await Effect.runPromise(files.built)).toBeNull()
    fs.mkdirSync(path.join(place, "assets"))
    fs.writeFileSync(path.join(place, "index.html"), "<html lang=\"en\">")
    fs.writeFileSync(path.join(place, "assets", "a-1.js"), "1")
    fs.writeFileSync(path.join(place, "assets", "a-1.js.gz"), zlib.gzipSync("1"))
    const built = await Effect.runPromise(files.built)
    expect([built?.index, [...built?.assets.keys() ?? []], built?.assets.get("a-1.js")?.brotli]).toEqual(["<html lang=\"en\">", ["a-1.js"], null])
  })
})

describe("the build", () => {
  /** A copy of the sources that finds the packages of this repository, or none. */
  const copy = (packages: boolean): string => {
    const place = fs.mkdtempSync(path.join(os.tmpdir(), "dashboard-"))
    onTestFinished(() => fs.rmSync(place, { recursive: true }))
    fs.cpSync(folder, path.join(place, "dashboard"), { recursive: true, filter: (file) => !path.basename(file).startsWith("dist") })
    for (const file of ["package.json", "package-lock.json", "tsconfig.json"]) fs.copyFileSync(path.join(folder, "..", file), path.join(place, file))
    if (packages) fs.symlinkSync(path.join(folder, "..", "node_modules"), path.join(place, "node_modules"))
    return place
  }
  const run = (place: string, ...options: ReadonlyArray<string>) => {
    const { status, stdout } = spawnSync(process.execPath, [path.join(place, "dashboard", "build.mjs"), ...options], { encoding: "utf8" })
    return [status, stdout] as const
  }

  it("does nothing where the development packages are missing, and says so in one line", () => {
    const place = copy(false)
    const [status, said] = run(place)
    expect([status, said]).toEqual([0, "dashboard: not built, because the development packages are not installed; `npm ci` builds it\n"])
    expect(run(place, "--strict")[0]).toBe(1)
  })

  it("never fails an install, fails `npm run dashboard`, and builds once for the same sources", () => {
    const place = copy(true)
    const entry = path.join(place, "dashboard", "main.tsx")
    const sources = fs.readFileSync(entry, "utf8")
    fs.writeFileSync(entry, "import \"./none.ts\"\n")
    expect(run(place)[0]).toBe(0)
    expect(run(place, "--strict")[0]).not.toBe(0)
    expect(fs.existsSync(path.join(place, "dashboard", "dist"))).toBe(false)
    fs.writeFileSync(entry, sources)
    expect(run(place)[1]).toMatch(/^dashboard: built in/)
    expect(run(place)[1]).toBe("dashboard: up to date\n")
  })
})
