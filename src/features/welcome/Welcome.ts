/** GET /: a browser goes to the dashboard, or is told what to do next where there is none; so are curl, and programs as JSON. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import { anyone } from "#schemas/api/Access.ts"
import type { RouteRule } from "#schemas/api/RouteTable.ts"
import { DashboardFiles } from "#src/features/dashboard/ports/DashboardFiles.ts"
import { escaped } from "#src/platform/pages/escaped.ts"
import { ManagementOptions } from "#src/management/ManagementOptions.ts"

export const routes: ReadonlyArray<RouteRule> = [{ method: "GET", path: "/", group: "docs", endpoint: "welcome", access: anyone }]

interface Facts {
  readonly url: string
  readonly version: string
  readonly keyRequired: boolean
  /** A model that answers without any provider; null when the simulator is off. */
  readonly model: string | null
}

interface Step {
  readonly title: string
  readonly command: string
}

const json = "-H 'Content-Type: application/json'"

const stepsOf = ({ keyRequired, model, url }: Facts): ReadonlyArray<Step> => [
  {
    title: "Ask a model",
    command: `curl -N ${url}/v1/chat/completions${keyRequired ? " -H 'Authorization: Bearer <your key>'" : ""} ${json} \\\n`
      + `  -d '{"model":"${model ?? "<provider>/<model>"}","stream":true,"messages":[{"role":"user","content":"Hello"}]}'`
  },
  { title: "Sign in as the operator", command: `curl -c jar ${url}/api/auth/login ${json} -d '{"password":"<printed at the first start>"}'` },
  {
    title: "Add a provider",
    command: `curl -b jar ${url}/api/providers ${json} \\\n  -d '{"provider":"openai","name":"main","apiKey":"sk-..."}'`
  },
  { title: "Make a key for your clients", command: `curl -b jar ${url}/api/keys ${json} -d '{"name":"app"}'` }
]

const linksOf = ({ url }: Facts): ReadonlyArray<readonly [name: string, url: string]> => [
  ["Models", `${url}/v1/models`],
  ["API reference", `${url}/docs`],
  ["OpenAPI", `${url}/openapi.json`],
  ["Health", `${url}/api/health/ping`]
]

const text = (facts: Facts): string => [
  `Gateway ${facts.version}. SDKs: base URL ${facts.url}/v1${facts.keyRequired ? ", with a key of this gateway" : ""}.`,
  ...stepsOf(facts).map(({ command, title }) => `\n# ${title}\n${command}`),
  "",
  ...linksOf(facts).map(([name, link]) => `${name}: ${link}`),
  ""
].join("\n")

const style = "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}"
  + "pre{overflow-x:auto;padding:.8rem;border:1px solid #8886;border-radius:6px}"

const page = (facts: Facts): string => "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
  + "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>Gateway</title>"
  + `<style>${style}</style></head><body><h1>Gateway ${escaped(facts.version)}</h1>`
  + `<p>SDKs take <code>${escaped(facts.url)}/v1</code> as their base URL${facts.keyRequired ? " and a key of this gateway" : ""}.</p>`
  + stepsOf(facts).map(({ command, title }) => `<h2>${escaped(title)}</h2><pre>${escaped(command)}</pre>`).join("")
  + `<p>${linksOf(facts).map(([name, link]) => `<a href="${escaped(link)}">${escaped(name)}</a>`).join(" · ")}</p></body></html>`

/** The address the client used, as far as it is one; the header is the client's own text. */
const addressOf = (request: HttpServerRequest.HttpServerRequest, port: number): string => {
  const host = request.headers["host"] ?? ""
  const given = /^(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/.test(host) ? host : `127.0.0.1:${port}`
  return `${request.headers["x-forwarded-proto"] === "https" ? "https" : "http"}://${given}`
}

export const layer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const configuration = yield* Configuration
  const flags = yield* Flags
  const lifecycle = yield* Lifecycle
  const { port } = yield* ManagementOptions
  const dashboard = yield* DashboardFiles
  yield* router.add("GET", "/", Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const facts: Facts = {
      url: addressOf(request, port),
      version: lifecycle.version,
      keyRequired: flags.isOn("REQUIRE_API_KEY"),
      model: configuration.current().simulatorUrl === null ? null : "sim/echo"
    }
    const accept = request.headers["accept"] ?? ""
    const headers = { "cache-control": "no-store", "vary": "accept", "x-gateway-version": facts.version }
    if (accept.includes("text/html")) {
      // Relative: a reverse proxy may have taken a prefix away.
      if (yield* dashboard.isReady) return HttpServerResponse.empty({ status: 302, headers: { ...headers, location: "dashboard" } })
      return HttpServerResponse.text(page(facts), {
        contentType: "text/html; charset=utf-8",
        headers: { ...headers, "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'", "x-content-type-options": "nosniff" }
      })
    }
    return accept.includes("application/json")
      ? HttpServerResponse.jsonUnsafe({ ...facts, links: Object.fromEntries(linksOf(facts)), steps: stepsOf(facts) }, { headers })
      : HttpServerResponse.text(text(facts), { contentType: "text/plain; charset=utf-8", headers })
  }))
}))
