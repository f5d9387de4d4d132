/** Lists of tools with short descriptions, where the flag GATEWAY_MCP_COMPRESS_DESCRIPTIONS and the setting of compression both say so. */
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { compressionOf } from "#schemas/words/Compression.ts"
import { tools } from "./all.ts"

const briefs = new Map(tools.map(({ brief, description }) => [JSON.stringify(description), JSON.stringify(brief)]))

/** A list with the short descriptions: the flag may change while the gateway runs. */
const shortened = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => {
  if (response.body._tag !== "Uint8Array") return response
  let text = Buffer.from(response.body.body).toString("utf8")
  for (const [whole, brief] of briefs) text = text.replace(`"description":${whole}`, () => `"description":${brief}`)
  return HttpServerResponse.text(text, { status: response.status, headers: response.headers, contentType: response.body.contentType })
}

/** The answer to a list, or the same with short descriptions. */
export const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const flags = yield* Flags
  return (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse =>
    flags.isOn("GATEWAY_MCP_COMPRESS_DESCRIPTIONS") && compressionOf(configuration.current().settings).mcpDescriptionCompressionEnabled ? shortened(response) : response
})
