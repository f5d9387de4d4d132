/** Pages on a public name: served by this machine over HTTPS, through the allowance that tests have in the guard of fetched URLs. */
import * as https from "node:https"
import type { ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type * as MediaFetch from "#src/platform/media/MediaFetch.ts"
import { cert, key } from "#test/upstream/support/selfSigned.ts"

export type Page = (response: ServerResponse) => void

export interface Pages {
  /** `https://upstream.test:<port>` */
  readonly origin: string
  /** Paths that were asked for, in order. */
  readonly asked: ReadonlyArray<string>
  /** Connections that stand open. */
  readonly open: () => number
  readonly network: MediaFetch.Network
  readonly stop: () => Promise<void>
}

const address = "93.184.215.14"

/** The name inside.test has an address of an inner network; every other one is unknown. */
export const startPages = async (pages: Readonly<Record<string, Page>>, fetchMs = 5_000): Promise<Pages> => {
  const asked: Array<string> = []
  let open = 0
  const server = https.createServer({ cert, key }, (request, response) => {
    const path = request.url ?? ""
    asked.push(path)
    open++
    response.on("close", () => {
      open--
    })
    const page = pages[path.split("?")[0] as string]
    if (page === undefined) response.writeHead(404, { "content-type": "text/html" }).end("<p>missing</p>")
    else page(response)
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  return {
    origin: `https://upstream.test:${(server.address() as AddressInfo).port}`,
    asked,
    open: () => open,
    network: {
      ca: [cert], fetchMs,
      resolve: (host, done) => {
        if (host === "upstream.test") done(null, [address])
        else if (host === "inside.test") done(null, [address, "10.0.0.7"])
        else done(new Error("unknown"), [])
      },
      route: (asked) => asked === address ? "127.0.0.1" : asked
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    }
  }
}

/** For requests that name addresses which only their provider fetches: every name is public, and nothing answers there. */
export const publicNames: MediaFetch.Network = { ca: [], fetchMs: 1_000, resolve: (_host, done) => done(null, [address]), route: () => "127.0.0.1" }

export const html = (text: string, type = "text/html; charset=utf-8"): Page => (response) => response.writeHead(200, { "content-type": type }).end(text)
