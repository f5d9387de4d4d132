/** Calls to the gateway that runs on this machine, as its own command line: the token is a MAC under the master key. */
import * as fs from "node:fs"
import * as http from "node:http"
import * as https from "node:https"
import * as Effect from "effect/Effect"
import { Secrets } from "#actors/ports/Secrets.ts"
import { nodeIdOf } from "#src/platform/configuration/nodeId.ts"
import { LOCAL_TOKEN_HEADER, localToken } from "#src/management/authentication/localToken.ts"
import type { Loaded } from "./environment.ts"
import { failure, refusalText, unreached } from "./Failure.ts"
import * as Records from "#src/cli/commands/records.ts"

/** ms for one call. */
const timeoutMs = 15_000

const hint = "\nRun the command with the gateway's own variables (GATEWAY_SECRET, GATEWAY_NODE_ID, GATEWAY_DATA_DIR); it must listen on a"
  + " loopback address, 0.0.0.0 or ::. Or stop it: then the command works on the database itself."

interface Answer {
  readonly status: number
  readonly body: unknown
}

/** On loopback the certificate need not name this host, but it must be the one this gateway was started with. */
export const tlsOptions = (settings: Loaded): https.RequestOptions =>
  settings.tlsCert === null ? {} : { ca: fs.readFileSync(settings.tlsCert), allowPartialTrustChain: true, checkServerIdentity: () => undefined }

const send = (url: URL, options: https.RequestOptions, body: string | null) =>
  new Promise<Answer>((resolve, reject) => {
    const request = (url.protocol === "https:" ? https : http).request(url, { ...options, timeout: timeoutMs }, (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.once("error", reject)
      response.once("end", () => {
        const text = Buffer.concat(chunks).toString("utf8")
        try {
          resolve({ status: response.statusCode ?? 0, body: text === "" ? null : JSON.parse(text) as unknown })
        } catch {
          reject(new Error(`the answer (status ${response.statusCode}) is not JSON`))
        }
      })
    })
    request.once("timeout", () => request.destroy(new Error(`no answer within ${timeoutMs} ms`)))
    request.once("error", reject)
    request.end(body ?? undefined)
  })

export type LocalHttp = (method: "GET" | "POST" | "PATCH" | "DELETE", path: string, body?: unknown) => Effect.Effect<unknown, ReturnType<typeof failure>>

/** `url` is the running gateway's. Answers the body of a 2xx, and fails with what the gateway said otherwise. */
export const make = Effect.fnUntraced(function*(settings: Loaded, url: string) {
  const secrets = yield* Effect.provide(Secrets, Records.secrets(settings))
  const token = localToken(secrets, nodeIdOf(settings))
  const call: LocalHttp = (method, path, body) => {
    const text = body === undefined ? null : JSON.stringify(body)
    return Effect.tryPromise({
      try: () => send(new URL(path, url), {
        ...tlsOptions(settings),
        method,
        headers: { [LOCAL_TOKEN_HEADER]: token, ...(text === null ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }) }
      }, text),
      catch: (error) => failure(`The running gateway at ${url} cannot be asked: ${unreached(error)}`)
    }).pipe(Effect.flatMap(({ body: answer, status }) =>
      status >= 200 && status < 300
        ? Effect.succeed(answer)
        : Effect.fail(failure(`The running gateway at ${url} refused ${method} ${path} with ${status}: ${refusalText(answer)}${status === 401 ? hint : ""}`))))
  }
  return call
})
