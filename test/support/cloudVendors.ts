/** Local twins of the vendors of cloud agents: strict about paths, credentials and bodies, and scripted by the test. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

type Json = Readonly<Record<string, unknown>>

export interface Heard {
  readonly method: string
  readonly path: string
  readonly credential: string
  readonly body: Json | null
}

export interface CloudVendors {
  readonly url: string
  readonly heard: Array<Heard>
  /** `<method> <path>` to a status and a body; anything else is 404. */
  readonly answers: Map<string, readonly [number, unknown]>
  /** The next such call waits for `answer`; `asked` ends when it came. */
  readonly hold: (call: string, answer: readonly [number, unknown]) => { readonly asked: Promise<void>; readonly answer: () => void }
  readonly close: () => Promise<void>
}

export const start = async (): Promise<CloudVendors> => {
  const heard: Array<Heard> = []
  const answers: CloudVendors["answers"] = new Map()
  const held = new Map<string, (reply: () => void) => void>()
  const server = createServer((request, response) => {
    const chunks: Array<Uint8Array> = []
    request.on("data", (chunk: Uint8Array) => chunks.push(chunk))
    request.on("end", () => {
      const sent = Buffer.concat(chunks).toString()
      const path = request.url ?? ""
      const goog = request.headers["x-goog-api-key"]
      heard.push({
        method: request.method ?? "", path, credential: typeof goog === "string" ? goog : request.headers.authorization ?? "",
        body: sent === "" ? null : JSON.parse(sent) as Json
      })
      const reply = (): void => {
        const [status, body] = answers.get(`${request.method} ${path}`) ?? [404, { error: { message: `no such path: ${path}` } }]
        response.writeHead(status, { "content-type": "application/json" })
        response.end(typeof body === "string" ? body : JSON.stringify(body))
      }
      const hold = held.get(`${request.method} ${path}`)
      if (hold === undefined) reply()
      else hold(reply)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard, answers,
    hold: (call, answer) => {
      const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      answers.set(call, answer)
      held.set(call, (reply) => {
        held.delete(call)
        asked.resolve()
        void answered.promise.then(reply)
      })
      return { asked: asked.promise, answer: () => answered.resolve() }
    },
    close: () => new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
}
