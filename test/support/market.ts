/** A marketplace on this machine: a list, packages, and what it was asked. */
import { createHash } from "node:crypto"
import * as NodeHttp from "node:http"
import type { AddressInfo } from "node:net"

export interface Offer {
  readonly id?: string
  readonly content: unknown
  /** Members of the entry over those that are made. */
  readonly entry?: Readonly<Record<string, unknown>>
}

export interface Market {
  readonly address: string
  /** Paths, with their queries. */
  readonly asked: Array<string>
  /** What stands in the place of the list. */
  answer: { readonly status: number; readonly body: string } | null
  readonly offer: (offer: Offer) => void
  readonly close: () => Promise<void>
}

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

export const start = async (kind: "skills" | "plugins" | "both"): Promise<Market> => {
  const entries: Array<Record<string, unknown>> = []
  const packages = new Map<string, string>()
  const asked: Array<string> = []
  const server = NodeHttp.createServer((request, response) => {
    asked.push(request.url ?? "")
    response.setHeader("content-type", "application/json")
    const found = packages.get(request.url ?? "")
    if (found !== undefined) return response.end(found)
    if (market.answer === null) return response.end(JSON.stringify(kind === "both" ? entries : { [kind]: entries }))
    response.statusCode = market.answer.status
    return response.end(market.answer.body)
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const market: Market = {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/list?key=x`,
    asked, answer: null,
    offer: ({ content, entry, id = `id-${entries.length}` }) => {
      const text = JSON.stringify(content)
      packages.set(`/packages/${id}.json`, text)
      entries.push({ id, name: id, url: `packages/${id}.json`, sha256: sha256(text), ...entry })
    },
    close: () => new Promise<void>((closed) => {
      server.closeAllConnections()
      server.close(() => closed())
    })
  }
  return market
}
