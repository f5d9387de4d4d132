/** A client that is answered with other headers than its request made. */
import type { Client } from "#actors/request/Inbound.ts"

type Headers = ReadonlyArray<string>

/** The client; `change` is given the head of its answer. */
export const headedClient = (client: Client, change: (headers: Headers) => Headers): Client => ({
  start: (status, headers) => client.start(status, change(headers)),
  relay: (chunk) => client.relay(chunk),
  onDrain: (listener) => client.onDrain(listener),
  end: (chunk) => client.end(chunk),
  respond: (status, headers, body) => client.respond(status, change(headers), body),
  close: () => client.close()
})
