/** The page of a sign-in that failed: what happened, what to do, and the id of the request. */
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Refusal from "#schemas/api/Refusal.ts"
import { escaped } from "#src/platform/pages/escaped.ts"
import * as ReturnPath from "./returnPath.ts"

const style = "body{font:16px/1.5 system-ui,sans-serif;max-width:38rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}p{overflow-wrap:anywhere}"

export const of = ({ error, headers, status }: Refusal.Refusal, requestId: string): HttpServerResponse.HttpServerResponse => {
  const said = [error.message, ...(error.details ?? []).map(({ field, message }) => `${field}: ${message}`)].join(". ")
  return HttpServerResponse.text(
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      + `<title>Not signed in · Gateway</title><style>${style}</style></head><body><h1>You are not signed in</h1><p>${escaped(said)}.</p>`
      + `<p><a href="${ReturnPath.locationOf(`${ReturnPath.DASHBOARD}/`)}">Back to the dashboard</a></p>`
      + `<p><small>${escaped(error.code)}, request ${escaped(requestId)}</small></p></body></html>`,
    {
      status, contentType: "text/html; charset=utf-8",
      headers: { ...headers, "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'", "referrer-policy": "no-referrer" }
    }
  )
}
