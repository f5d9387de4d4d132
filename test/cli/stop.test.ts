import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it } from "vitest"
import { watchLate } from "#test/support/late.ts"
import { type Command, emptyDirectory, freePort, start } from "./support/command.ts"
import { chat, migrated, serve } from "./support/dataDir.ts"

/** Reads until the first token has come; answers the rest. */
const opened = async (response: Response) => {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let text = ""
  while (!text.includes("\"content\":\"")) text += decoder.decode((await reader.read()).value, { stream: true })
  return async () => {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return text
      text += decoder.decode(value, { stream: true })
    }
  }
}

const timed = async (command: Command) => {
  const late = watchLate()
  const began = performance.now()
  const ended = await command.ended
  return { ...ended, ms: performance.now() - began, late: late() }
}

describe("SIGTERM", () => {
  it("lets a live stream end inside its grace, refuses new connections, and exits with 0", async () => {
    const served = await serve(await migrated(), { SHUTDOWN_TIMEOUT_MS: "20000" })
    const rest = await opened(await chat(served, { model: "sim/tokens-60@30", stream: true }))
    served.command.signal("SIGTERM")
    const [text, ended] = await Promise.all([rest(), timed(served.command)])
    expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true)
    expect(text).not.toContain("\"error\"")
    expect(ended.code).toBe(0)
    expect(ended.stdout).toContain("stopping: 1 live requests and sockets get up to 21s to end")
    expect(ended.stderr).not.toMatch(/\n\s+at /)
    await expect(fetch(`${served.url}/api/health/ping`)).rejects.toThrow()
  })

  it("ends a stream that outlives the grace with an error of its format, inside grace + 2 s, with 0", async () => {
    const grace = 700
    const served = await serve(await migrated(), { SHUTDOWN_TIMEOUT_MS: String(grace) })
    const rest = await opened(await chat(served, { model: "sim/tokens-2000@30", stream: true }))
    served.command.signal("SIGTERM")
    const [text, ended] = await Promise.all([rest(), timed(served.command)])
    expect(text).toContain("\"error\"")
    expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true)
    expect(ended.code).toBe(0)
    expect(ended.ms).toBeGreaterThan(grace - 100)
    // The exit itself is bounded by grace + 2 s; the rest is the noise of a loaded machine.
    expect(ended.ms).toBeLessThan(grace + 2_000 + 1_000 + ended.late)
  })
})

describe("SIGTERM during the first start", () => {
  it("ends with 0 while the database is being made, and the next start has one", async () => {
    const dataDir = emptyDirectory()
    const database = path.join(dataDir, "pglite")
    const port = await freePort()
    const command = start(["serve"], { env: { PORT: String(port), GATEWAY_DATA_DIR: dataDir } })
    // The database's folder is there as soon as its thread is begun; the port answers from before that on.
    while (!fs.existsSync(database)) await fetch(`http://127.0.0.1:${port}/api/health/ping`).then((reply) => reply.text(), () => "")
    command.signal("SIGTERM")
    const ended = await command.ended
    expect(ended.code).toBe(0)
    expect(ended.stderr).not.toMatch(/\n\s+at /)
    const served = await serve(dataDir)
    served.command.signal("SIGTERM")
    expect((await served.command.ended).code).toBe(0)
  })
})

describe("SIGINT", () => {
  it("a second one leaves at once with 130", async () => {
    const served = await serve(await migrated(), { SHUTDOWN_TIMEOUT_MS: "60000" })
    const response = await chat(served, { model: "sim/tokens-2000@30", stream: true })
    const rest = await opened(response)
    served.command.signal("SIGINT")
    // Not before the first one was heard: readiness falls then, on the connection that is still open.
    const cut = rest().catch(() => "cut")
    await refusesNew(served.url)
    served.command.signal("SIGINT")
    const ended = await timed(served.command)
    expect(ended.code).toBe(130)
    // The grace is a minute.
    expect(ended.ms).toBeLessThan(10_000)
    await cut
  })
})

const refusesNew = async (url: string): Promise<void> => {
  for (;;) {
    try {
      await (await fetch(`${url}/api/health/ping`, { headers: { connection: "close" } })).text()
    } catch {
      return
    }
  }
}

describe("POST /api/restart", () => {
  it("drains and starts anew in the same process id; POST /api/shutdown ends with 0", async () => {
    const served = await serve(await migrated(), { INITIAL_PASSWORD: "correct horse battery" })
    const login = async () => {
      const answer = await fetch(`${served.url}/api/auth/login`, {
        method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ password: "correct horse battery" })
      })
      return answer.headers.get("set-cookie")?.split(";")[0] ?? ""
    }
    const post = async (path: string) => (await fetch(`${served.url}${path}`, { method: "POST", headers: { cookie: await login() } })).status
    expect(await post("/api/restart")).toBe(200)
    await served.command.said("listens on", 2)
    expect((await fetch(`${served.url}/api/health/ping`)).status).toBe(200)
    expect(served.command.child.exitCode).toBe(null)
    expect(await post("/api/shutdown")).toBe(200)
    expect((await served.command.ended).code).toBe(0)
  })
})
