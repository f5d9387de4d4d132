/**
 * The inference surface's part of what no route took: 404 `unknown_route` with the path (inference document, Errors), and the
 * paths whose wrong methods answer 405. Paths are exact: a variant by case, slash or encoding is another, unknown route
 * (decisions 16).
 */
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Errors from "#schemas/errors.ts"
import { version } from "#schemas/version.ts"
import { errorBody } from "#src/wire/chatCompletions/errors.ts"

export const unknownRoute = (method: string, url: string) => {
  const path = (url.split("?", 1)[0] as string).slice(0, 512)
  const error = Errors.make("unknown_route", `Unknown route: ${method} ${path}`, { extra: { path } })
  return HttpServerResponse.text(errorBody(error), {
    status: error.status,
    contentType: "application/json",
    headers: { "X-Gateway-Version": version }
  })
}
