/** Signs of life of `gateway mcp`: written while its stream is open, and gone some seconds after it. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Supervisor from "#actors/Supervisor.ts"
import { ManagementOptions } from "#src/management/ManagementOptions.ts"
import { McpSessions } from "./ports/McpSessions.ts"

const EVERY = "5 seconds"

const Beat = Schema.Struct({ at: Schema.String, transport: Schema.String, node: Schema.String })
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Beat))

export const make = Effect.gen(function*() {
  const sessions = yield* McpSessions
  const { machineId } = yield* ManagementOptions
  const beat = Effect.ignore(Effect.flatMap(Clock.currentTimeMillis, (ms) =>
    sessions.beat(JSON.stringify({ at: new Date(ms).toISOString(), transport: "stdio", node: machineId }))))
  const beating = Supervisor.supervised("beats of gateway mcp", Effect.andThen(beat, Effect.sleep(EVERY)))
  return {
    last: Effect.map(sessions.lastBeat, (text) => {
      const known = text === null ? null : decode(text)
      return known === null || known._tag === "None" ? null : known.value
    }),
    /** The response with signs of life for as long as it is read. */
    during: (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => response.body._tag !== "Stream" ? response : HttpServerResponse.stream(
      Stream.merge(response.body.stream, Stream.drain(Stream.fromEffect(beating)), { haltStrategy: "left" }),
      { status: response.status, headers: response.headers, contentType: "text/event-stream" }
    )
  }
})
