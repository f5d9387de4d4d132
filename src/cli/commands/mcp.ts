/** `gateway mcp`: frames on standard input go to the gateway that runs on this machine, and its answers come on standard output. */
import * as http from "node:http"
import * as https from "node:https"
import * as readline from "node:readline"
import * as Effect from "effect/Effect"
import { Secrets } from "#actors/ports/Secrets.ts"
import { load, type Overrides } from "#src/cli/environment.ts"
import { failure, unreached } from "#src/cli/Failure.ts"
import { tlsOptions } from "#src/cli/LocalHttp.ts"
import * as RunningGateway from "#src/cli/RunningGateway.ts"
import { LOCAL_TOKEN_HEADER, localToken } from "#src/management/authentication/localToken.ts"
import { nodeIdOf } from "#src/platform/configuration/nodeId.ts"
import * as Records from "./records.ts"

const path = "/api/mcp/stream"
/** Longest frame, bytes. */
const FRAME_MAX = 1_048_576

type Id = string | number | null

const member = (value: unknown, name: string): unknown => typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined
const textAt = (value: unknown, ...names: ReadonlyArray<string>): string | undefined => {
  const found = names.reduce(member, value)
  return typeof found === "string" ? found : undefined
}
const idOf = (frame: unknown): Id | undefined => {
  const id = member(frame, "id")
  return typeof id === "string" || typeof id === "number" ? id : undefined
}

interface Answer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
}

/** One client on standard input. */
class Bridge {
  readonly #url: URL
  readonly #options: https.RequestOptions
  #session: string | undefined
  #version: string | undefined
  /** Frames wait for the answer to the opening one. */
  #opening: Promise<unknown> = Promise.resolve()
  #listening: http.ClientRequest | null = null
  readonly #under = new Set<Promise<unknown>>()

  constructor(url: URL, options: https.RequestOptions, headers: Readonly<Record<string, string>>) {
    this.#url = url
    this.#options = { ...options, headers }
  }

  #write(text: string): void {
    process.stdout.write(`${text}\n`)
  }

  #refuse(id: Id, code: number, message: string): void {
    this.#write(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }))
  }

  #request(method: string, headers: Readonly<Record<string, string>>, body: string | null, onLine: (line: string) => void, onOpen?: (request: http.ClientRequest) => void) {
    return new Promise<Answer>((resolve, reject) => {
      const request = (this.#url.protocol === "https:" ? https : http).request(this.#url, {
        ...this.#options, method,
        headers: {
          ...this.#options.headers as Record<string, string>, accept: "application/json, text/event-stream",
          ...(this.#session === undefined ? {} : { "mcp-session-id": this.#session }),
          ...(this.#version === undefined ? {} : { "mcp-protocol-version": this.#version }), ...headers,
          ...(body === null ? {} : { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) })
        }
      }, (response) => {
        const isStream = response.headers["content-type"]?.startsWith("text/event-stream") === true
        let text = ""
        response.setEncoding("utf8")
        response.on("data", (chunk: string) => {
          text += chunk
          if (!isStream) return
          const lines = text.split("\n")
          text = lines.pop() ?? ""
          for (const line of lines) if (line.startsWith("data:")) onLine(line.slice(5).trim())
        })
        response.once("error", reject)
        response.once("end", () => {
          if (!isStream && text.trim() !== "") onLine(text.trim())
          resolve({ status: response.statusCode ?? 0, headers: response.headers })
        })
      })
      onOpen?.(request)
      request.once("error", reject)
      request.end(body ?? undefined)
    })
  }

  /** The open stream tells the gateway that a client is here. */
  #listen(): void {
    this.#request("GET", { accept: "text/event-stream" }, null, (line) => this.#write(line), (request) => {
      this.#listening = request
    }).catch(() => undefined)
  }

  async #send(text: string, frame: unknown): Promise<void> {
    const id = idOf(frame)
    const method = textAt(frame, "method")
    const own = textAt(frame, "params", "_meta", "io.modelcontextprotocol/protocolVersion")
    const name = textAt(frame, "params", "name")
    const lines: Array<string> = []
    try {
      const { headers, status } = await this.#request("POST", own === undefined ? {} : {
        "mcp-protocol-version": own, ...(method === undefined ? {} : { "mcp-method": method }), ...(name === undefined ? {} : { "mcp-name": name })
      }, text, (line) => {
        if (line === "") return
        const parsed: unknown = JSON.parse(line)
        if (textAt(parsed, "jsonrpc") === undefined && !Array.isArray(parsed)) return void lines.push(textAt(parsed, "error", "message") ?? line.slice(0, 500))
        if (method === "initialize") this.#version = textAt(parsed, "result", "protocolVersion")
        // A refusal before the frame was read carries no id.
        this.#write(id !== undefined && member(parsed, "id") === null ? JSON.stringify({ ...parsed as object, id }) : line)
      })
      if (lines.length > 0 && id !== undefined) this.#refuse(id, -32000, lines.join(" "))
      else if (lines.length > 0) process.stderr.write(`${lines.join(" ")}\n`)
      const session = headers["mcp-session-id"]
      if (method === "initialize" && status === 200 && typeof session === "string") {
        this.#session = session
        this.#listen()
      }
    } catch (error) {
      const message = `The gateway cannot be asked: ${unreached(error)}`
      if (id === undefined) process.stderr.write(`${message}\n`)
      else this.#refuse(id, -32603, message)
    }
  }

  take(line: string): void {
    const text = line.trim()
    if (text === "") return
    if (Buffer.byteLength(text) > FRAME_MAX) return this.#refuse(null, -32600, `A frame has ${FRAME_MAX} bytes at most`)
    let frame: unknown
    try {
      frame = JSON.parse(text)
    } catch {
      return this.#refuse(null, -32700, "Parse error: the line is not JSON")
    }
    const sent = this.#opening.then(() => this.#send(text, frame))
    if (textAt(frame, "method") === "initialize") this.#opening = sent
    this.#under.add(sent)
    void sent.finally(() => this.#under.delete(sent))
  }

  /** Answers of frames that came before the end are still written. */
  async end(): Promise<void> {
    await Promise.allSettled(this.#under)
    this.#listening?.destroy()
    if (this.#session !== undefined) await this.#request("DELETE", {}, null, () => undefined).catch(() => undefined)
  }
}

export const mcp = Effect.fnUntraced(function*(overrides: Overrides) {
  const settings = yield* load(overrides)
  const running = RunningGateway.find(settings.dataDir)
  if (running === null || running.url === null) {
    return yield* Effect.fail(failure("No gateway runs on this data directory: start it with `gateway serve`, then switch MCP on (settings mcpEnabled and mcpTransport)."))
  }
  const secrets = yield* Effect.provide(Secrets, Records.secrets(settings))
  const bridge = new Bridge(new URL(path, running.url), tlsOptions(settings), {
    [LOCAL_TOKEN_HEADER]: localToken(secrets, nodeIdOf(settings)), "x-gateway-mcp-transport": "stdio"
  })
  yield* Effect.promise(async () => {
    for await (const line of readline.createInterface({ input: process.stdin })) bridge.take(line)
    await bridge.end()
  })
})
