/**
 * GET /dashboard: the operator's page and its files. The page is the same for all viewers, with what settings say of its looks; what it
 * shows comes from the management API with the session of its viewer. All its addresses are relative, so it works below any path of a reverse proxy.
 */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import { anyone } from "#schemas/api/Access.ts"
import * as RouteTable from "#schemas/api/RouteTable.ts"
import * as ContentCoding from "#src/platform/server/contentCoding.ts"
import { type DashboardFile, DashboardFiles } from "./ports/DashboardFiles.ts"
import * as Preferences from "./preferences.ts"

const assetPath = "/dashboard/assets/:name"
/** Screens have at most two words after `/dashboard`. */
const pagePaths = ["/dashboard", "/dashboard/", "/dashboard/:screen", "/dashboard/:screen/:id"] as const

export const routes: ReadonlyArray<RouteTable.RouteRule> = [...pagePaths, assetPath].map((path) => ({
  method: "GET", path, group: "docs", endpoint: `dashboard ${path}`, access: anyone
}))

const policy = [
  "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data: blob:", "connect-src 'self'", "base-uri 'self'", "form-action 'self'",
  "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"
].join("; ")

const pageHeaders = {
  "cache-control": "no-store",
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()"
}

const assetHeaders = { "cache-control": "public, max-age=31536000, immutable", "x-content-type-options": "nosniff", "vary": "accept-encoding" }

/** The way from the page's own address back to `dashboard/`. */
export const baseOf = (path: string): string => {
  const depth = path.split("/").length - 2
  return depth === 0 ? "dashboard/" : depth === 1 ? "./" : "../".repeat(depth - 1)
}

export const pageOf = (index: string, path: string, cookies: Readonly<Record<string, string>>, preferences: Preferences.Preferences): string =>
  Preferences.put(index.replace(/<base href="[^"]*">/, `<base href="${baseOf(path)}">`), preferences, cookies)

const notBuilt = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>Gateway</title>"
  + "<h1>The dashboard is not built</h1><p>This installation has no development packages, or was made without its scripts. "
  + "In the gateway's directory run <code>npm ci &amp;&amp; npm run dashboard</code>, then load this page again. Everything else works.</p></html>"

const answerOf = ({ brotli, gzip, plain, type }: DashboardFile, acceptEncoding: string | undefined): HttpServerResponse.HttpServerResponse => {
  const [bytes, coding] = brotli !== null && ContentCoding.takes(acceptEncoding, "br") ? [brotli, "br"]
    : gzip !== null && ContentCoding.takes(acceptEncoding, "gzip") ? [gzip, "gzip"] : [plain, null]
  return HttpServerResponse.uint8Array(bytes, { contentType: type, headers: coding === null ? assetHeaders : { ...assetHeaders, "content-encoding": coding } })
}

/** An operator's picture: an SVG that is opened by itself runs nothing. */
const pictureHeaders = { ...assetHeaders, "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox" }
const pictureAnswer = ({ bytes, type }: Preferences.Picture) => HttpServerResponse.uint8Array(bytes, { contentType: type, headers: pictureHeaders })

const missing = HttpServerResponse.text("No such file. The gateway was updated: load the page again.", { status: 404, headers: { "cache-control": "no-store" } })
const off = HttpServerResponse.text("The dashboard is switched off (GATEWAY_DASHBOARD=off).", { status: 404, headers: { "cache-control": "no-store" } })

export const layer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const configuration = yield* Configuration
  const files = yield* DashboardFiles
  let known: { readonly settings: Snapshot["settings"]; readonly preferences: Preferences.Preferences } | null = null
  /** Read once for each configuration: a logo may be of half a megabyte. */
  const preferences = (): Preferences.Preferences => {
    const { settings } = configuration.current()
    if (known?.settings !== settings) known = { settings, preferences: Preferences.read(settings) }
    return known.preferences
  }
  const page = Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    if (!files.isOn) return off
    const built = yield* files.built
    const html = built === null ? notBuilt : pageOf(built.index, RouteTable.rawPath(request.url), request.cookies, preferences())
    return HttpServerResponse.text(html, { status: built === null ? 503 : 200, contentType: "text/html; charset=utf-8", headers: pageHeaders })
  })
  const asset = Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { name = "" } = yield* HttpRouter.params
    if (!files.isOn) return missing
    const file = (yield* files.built)?.assets.get(name)
    if (file !== undefined) return answerOf(file, request.headers["accept-encoding"])
    const { favicon, logo } = preferences()
    const picture = [logo, favicon].find((one) => one?.name === name) ?? null
    return picture === null ? missing : pictureAnswer(picture)
  })
  for (const path of pagePaths) yield* router.add("GET", path, page)
  yield* router.add("GET", assetPath, asset)
}))
