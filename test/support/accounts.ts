/** A vendor's quota endpoints on loopback: answers what a test wants, by path, and counts who asked. */
import * as Http from "node:http"
import type { AddressInfo } from "node:net"

export interface Accounts {
  readonly url: string
  /** The answer for a credential; a number is a bare status. */
  readonly answers: Map<string, unknown>
  /** Path and credential of each question. */
  readonly asked: Array<readonly [path: string, credential: string]>
  readonly stop: () => Promise<void>
}

export const startAccounts = async (): Promise<Accounts> => {
  const answers = new Map<string, unknown>()
  const asked: Array<readonly [string, string]> = []
  const server = Http.createServer((request, response) => {
    const credential = (request.headers.authorization ?? "").replace("Bearer ", "")
    asked.push([request.url ?? "", credential])
    const answer = answers.get(credential)
    if (typeof answer === "number") response.writeHead(answer).end("{}")
    else if (typeof answer === "string") response.end(answer)
    else response.setHeader("content-type", "application/json").end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, answers, asked,
    stop: () => new Promise((resolve) => {
      server.closeAllConnections()
      server.close(() => resolve())
    })
  }
}
