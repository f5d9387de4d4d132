/** How vendors of searches and pages tell of errors. Pure. */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import * as Json from "#src/wire/json/json.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import { textIn } from "./SearchVendor.ts"

type Body = Readonly<Record<string, unknown>>

/** The vendors' errors beside the common object: `{error}` and `{detail}` as a text, or as an object around `error` or `detail`. */
export const errorIn = (body: Body): UpstreamErrorBody | null => {
  const said = body["error"] ?? body["detail"]
  if (!Json.isRecord(said)) return textIn(said) === null ? null : { message: String(said), type: null, code: null, status: null }
  const message = textIn(said["message"]) ?? textIn(said["error"]) ?? textIn(said["detail"])
  return message === null ? null : { message, type: textIn(said["type"]), code: textIn(said["code"]), status: null }
}

export const readError = (body: Uint8Array): UpstreamErrorBody | null => {
  const parsed = OneShotJson.recordOf(body)
  return (parsed === null ? null : errorIn(parsed)) ?? OneShotJson.readError(body)
}
