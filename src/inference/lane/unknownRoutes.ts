/**
 * Requests to the inference surface that match no route: 404 `unknown_route` with the path, or 405 where only the method is
 * wrong. Paths are exact: a variant by case, slash or encoding is another, unknown route.
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
