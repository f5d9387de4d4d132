/** Tailscale's tunnel, its sign-in and a daemon of the gateway's own, by programs that speak as tailscale and tailscaled do. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { TunnelStatus } from "#src/features/tunnels/api.ts"
import type { Facts } from "#src/features/tunnels/Tailscale.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import type * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import * as TunnelPrograms from "#test/support/tunnelPrograms.ts"

const PAGE = "https://login.tailscale.com/a/abc123"
const URL_OF_HOST = "https://host.tail1234.ts.net"

const programs = TunnelPrograms.make("tailscale", "tailscaled")
let gateway: InProcess
beforeAll(async () => {
  gateway = await inProcess({
    environment: { GATEWAY_TUNNELS: "on", REQUIRE_API_KEY: "true", GATEWAY_TAILSCALE_PATH: `${programs.directory}/tailscale`, GATEWAY_CLOUDFLARED_PATH: `${programs.directory}/none` }
  })
}, 60_000)
afterAll(async () => {
  await gateway.close()
  programs.remove()
})
afterEach(async () => {
  await post("disable")
  programs.set({ daemon: true, backend: "Running", funnel: "open" })
})

const post = <A>(route: string) => gateway.operator.call<A>("POST", `/api/tunnels/tailscale/${route}`)
const refusal = async (route: string) => {
  const { status, text }: Http.Reply = await gateway.operator.raw("POST", `/api/tunnels/tailscale/${route}`)
  const { error } = JSON.parse(text) as { readonly error: { readonly code: string; readonly message: string } }
  return { status, ...error }
}
const check = () => gateway.operator.call<Facts>("GET", "/api/tunnels/tailscale/check")
const status = () => gateway.operator.call<TunnelStatus>("GET", "/api/tunnels/tailscale")
const runs = () => eventually(status, ({ running }) => running, "the tunnel")
const enable = () => post<{ readonly success: boolean; readonly status: TunnelStatus }>("enable")
/** Processes that go on; a call of `status` ends by itself. */
const lasting = () => eventually(async () => programs.alive().filter(({ args }) => !args.includes("status")).map(({ name }) => name), () => true, "processes")

describe("Tailscale", () => {
  it("opens a Funnel that ends with its program, and tells how the machine stands", async () => {
    expect(await check()).toEqual({
      installed: true, daemonRunning: true, ownDaemon: false, loggedIn: true, backendState: "Running", version: "1.90.1-t0123", dnsName: "host.tail1234.ts.net", authUrl: null, reason: null
    })
    expect(await enable()).toMatchObject({ success: true, status: { phase: "running", publicUrl: URL_OF_HOST, apiUrl: `${URL_OF_HOST}/v1` } })
    expect(programs.called("tailscale").at(-1)?.args).toEqual(["funnel", gateway.url])
    expect(await post("install")).toMatchObject({ success: true, status: { installed: true, running: true } })
    expect(await post("disable")).toMatchObject({ success: true, action: "disable", status: { enabled: false, phase: "stopped" } })
    expect(await lasting()).toEqual([])
  })

  it("that is signed out needs a sign-in, whose address the call answers, and opens the tunnel after it", async () => {
    programs.set({ backend: "NeedsLogin" })
    expect(await enable()).toMatchObject({ success: false, status: { enabled: true, phase: "needs_auth", running: false, lastError: expect.stringContaining("Logged out.") as string } })
    // The address would give the machine away: a status, which every reader gets, does not hold it.
    expect((await status()).lastError).not.toContain(PAGE)
    expect(await check()).toMatchObject({ loggedIn: false, backendState: "NeedsLogin", authUrl: PAGE })
    expect(await post("login")).toEqual({ success: true, authUrl: PAGE })
    expect(await post("login")).toEqual({ success: true, authUrl: PAGE })
    expect(programs.called("tailscale").filter(({ args }) => args.includes("login"))).toHaveLength(1)
    programs.set({ backend: "Running" })
    expect(await runs()).toMatchObject({ publicUrl: URL_OF_HOST, lastError: null })
    expect(await post("login")).toEqual({ success: true, authUrl: null })
  })

  it("that was switched off is switched on with its account", async () => {
    programs.set({ backend: "Stopped" })
    expect(await post("login")).toEqual({ success: true, authUrl: null })
    expect(programs.called("tailscale").at(-1)?.args).toEqual(["up"])
  })

  it("that needs consent to Funnel waits for it", async () => {
    programs.set({ funnel: "consent" })
    expect(await enable()).toMatchObject({ success: false, status: { phase: "needs_auth" } })
    expect((await check()).authUrl).toBe("https://login.tailscale.com/f/funnel?node=n1")
    programs.set({ funnel: "open" })
    expect(await runs()).toMatchObject({ publicUrl: URL_OF_HOST })
  })

  it("without a daemon is told, and gets one of the gateway's own that ends with the tunnel", async () => {
    programs.set({ daemon: false })
    expect(await check()).toMatchObject({ installed: true, daemonRunning: false, reason: expect.stringContaining("failed to connect to local tailscaled") as string })
    expect(await refusal("login")).toMatchObject({ status: 409, code: "tailscale_daemon_away" })
    expect(await enable()).toMatchObject({ success: false, status: { phase: "error", lastError: expect.stringContaining("failed to connect to local tailscaled") as string } })
    expect(await post("start-daemon")).toEqual({ success: true, started: true })
    const [daemon] = programs.called("tailscaled")
    expect(daemon?.args).toEqual(["--tun=userspace-networking", `--statedir=${gateway.dataDir}/tailscale`, `--socket=${gateway.dataDir}/tailscale/tailscaled.sock`])
    expect(await runs()).toMatchObject({ publicUrl: URL_OF_HOST })
    expect(programs.called("tailscale").at(-1)?.args[0]).toBe(`--socket=${gateway.dataDir}/tailscale/tailscaled.sock`)
    expect(await post("start-daemon")).toEqual({ success: true, started: false })
    expect(await check()).toMatchObject({ daemonRunning: true, ownDaemon: true })
    expect([...await lasting()].sort()).toEqual(["tailscale", "tailscaled"])
    await post("disable")
    expect(await lasting()).toEqual([])
  })

  it("ends a sign-in that goes on and its daemon with the gateway", async () => {
    programs.set({ daemon: false, backend: "NeedsLogin" })
    await post("start-daemon")
    await post("login")
    expect([...await lasting()].sort()).toEqual(["tailscale", "tailscaled"])
    const pids = programs.alive().map(({ pid }) => pid)
    await gateway.restart()
    expect(pids.filter(TunnelPrograms.isAlive)).toEqual([])
    // The daemon is there again: what is enabled is kept.
    expect(await eventually(check, ({ daemonRunning }) => daemonRunning, "the daemon after the start")).toMatchObject({ ownDaemon: true, loggedIn: false })
  }, 30_000)

  it("has a path of its own for each program", async () => {
    expect(await gateway.operator.call("GET", "/api/tunnels/cloudflared")).toMatchObject({ supported: true, installed: false })
  })
})
