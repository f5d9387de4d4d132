/** Tunnels of a gateway over HTTP, by programs that speak as cloudflared and ngrok do. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { TunnelStatus } from "#src/features/tunnels/api.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import * as TunnelPrograms from "#test/support/tunnelPrograms.ts"

interface Acted {
  readonly success: boolean
  readonly action: string
  readonly status: TunnelStatus
}

const programs = TunnelPrograms.make("cloudflared", "ngrok")
let gateway: InProcess
beforeAll(async () => {
  gateway = await inProcess({ environment: { GATEWAY_TUNNELS: "on", REQUIRE_API_KEY: "true", PATH: programs.directory, GATEWAY_NGROK_AUTHTOKEN: "good-token-of-ngrok" } })
}, 60_000)
afterAll(async () => {
  await gateway.close()
  programs.remove()
})
afterEach(async () => {
  programs.set({ cloudflared: "quick" })
  for (const kind of ["cloudflared", "ngrok"]) await act(kind, "disable")
})

const act = (kind: string, action: string) => gateway.operator.call<Acted>("POST", `/api/tunnels/${kind}`, { action })
const status = (kind: string) => gateway.operator.call<TunnelStatus>("GET", `/api/tunnels/${kind}`)
const codeOf = ({ text }: Http.Reply) => (JSON.parse(text) as { readonly error: { readonly code: string } }).error.code
const pidOf = (name: string) => programs.called(name).at(-1)?.pid ?? 0
const dead = (pid: number) => eventually(async () => TunnelPrograms.isAlive(pid), (alive) => !alive, `the end of ${pid}`)

describe("a tunnel", () => {
  it("opens, tells its address, and closes", async () => {
    expect(await status("cloudflared")).toMatchObject({ supported: true, installed: true, enabled: false, running: false, phase: "stopped", publicUrl: null, apiUrl: null, targetUrl: gateway.url, lastError: null })
    const { action, status: opened, success } = await act("cloudflared", "enable")
    const url = `https://words-for-tests-${pidOf("cloudflared")}.trycloudflare.com`
    expect({ action, success, opened }).toMatchObject({ action: "enable", success: true, opened: { enabled: true, running: true, phase: "running", publicUrl: url, apiUrl: `${url}/v1`, failures: 0 } })
    expect(await status("cloudflared")).toEqual(opened)
    expect(programs.called("cloudflared").at(-1)?.args).toEqual(["tunnel", "--no-autoupdate", "--url", gateway.url])
    // It is open already: there is one of each.
    await act("cloudflared", "enable")
    expect(programs.called("cloudflared")).toHaveLength(1)
    expect((await Http.send(gateway.url, { path: "/metrics", method: "GET" })).text).toMatch(/gateway_tunnel_up\{.*tunnel="cloudflared".*\} 1/)
    const pid = pidOf("cloudflared")
    expect(await act("cloudflared", "disable")).toMatchObject({ success: true, action: "disable", status: { enabled: false, running: false, phase: "stopped", publicUrl: null } })
    expect(TunnelPrograms.isAlive(pid)).toBe(false)
    const entries = await gateway.operator.call<ReadonlyArray<{ readonly action: string; readonly target: string | null }>>("GET", "/api/compliance/audit-log?limit=50")
    expect(entries.filter(({ action }) => action.startsWith("tunnel.")).map(({ action, target }) => `${action} ${target}`)).toEqual(expect.arrayContaining(["tunnel.enabled cloudflared", "tunnel.disabled cloudflared"]))
  })

  it("is called by its own name while it is open, and its callers are not local", async () => {
    const ping = (host: string, path = "/api/health/ping") => Http.send(gateway.url, { method: "GET", path, headers: { host, "cf-connecting-ip": "203.0.113.7", "x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https" } })
    const { status: { publicUrl } } = await act("cloudflared", "enable")
    const host = new URL(publicUrl ?? "").host
    expect((await ping("some-other-words.trycloudflare.com")).status).toBe(421)
    expect((await ping(host)).status).toBe(200)
    expect((await ping(host, "/metrics")).status).toBe(403)
    expect((await ping(host, "/v1/models")).status).toBe(401)
    await act("cloudflared", "disable")
    expect((await ping(host)).status).toBe(421)
  })

  it("whose program dies is opened again, at another address", async () => {
    const { status: first } = await act("cloudflared", "enable")
    process.kill(pidOf("cloudflared"), "SIGKILL")
    const failing = await eventually(() => status("cloudflared"), ({ phase }) => phase === "error", "the end of the tunnel")
    expect(failing).toMatchObject({ enabled: true, running: false, publicUrl: null, failures: 1, lastError: expect.stringContaining("cloudflared ended (SIGKILL)") as string })
    expect(Date.parse(failing.nextTryAt ?? "") - Date.parse(failing.since ?? "")).toBe(1_000)
    const again = await eventually(() => status("cloudflared"), ({ running }) => running, "the next tunnel")
    expect(again.publicUrl).not.toBe(first.publicUrl)
    expect(again).toMatchObject({ phase: "running", lastError: null })
  })

  it("whose program fails is tried again, and an operator may ask for that at once", async () => {
    programs.set({ cloudflared: "offline" })
    expect(await act("cloudflared", "enable")).toMatchObject({
      success: false, status: { enabled: true, phase: "error", publicUrl: null, lastError: expect.stringMatching(/cloudflared ended \(exit code 1\): failed to request quick Tunnel: .* no such host/) as string }
    })
    programs.set({ cloudflared: "quick" })
    expect(await act("cloudflared", "enable")).toMatchObject({ success: true, status: { phase: "running" } })
  })

  it("of ngrok gets its token by a variable, and never shows it", async () => {
    expect(await act("ngrok", "enable")).toMatchObject({ success: true, status: { publicUrl: "https://ab12-203-0-113-7.ngrok-free.app", apiUrl: "https://ab12-203-0-113-7.ngrok-free.app/v1" } })
    const call = programs.called("ngrok").at(-1)
    expect(call?.args).toEqual(["http", gateway.url, "--log=stdout", "--log-format=json"])
    expect(call?.env["NGROK_AUTHTOKEN"]).toBe("good-token-of-ngrok")
    expect(Object.keys(call?.env ?? {}).filter((name) => name.startsWith("GATEWAY_") || name === "INITIAL_PASSWORD")).toEqual([])
  })

  it("of an unknown kind is not found, and one that is not installed is refused", async () => {
    for (const kind of ["frp", "constructor", "toString"]) expect((await gateway.operator.raw("GET", `/api/tunnels/${kind}`)).status).toBe(404)
    expect((await gateway.operator.raw("POST", "/api/tunnels/frp", { action: "enable" })).status).toBe(404)
    expect((await gateway.operator.raw("POST", "/api/tunnels/ngrok", { action: "install" })).status).toBe(400)
    const refused = await gateway.operator.raw("POST", "/api/tunnels/tailscale", { action: "enable" })
    expect([refused.status, codeOf(refused)]).toEqual([422, "tunnel_not_installed"])
    expect(refused.text).toContain("GATEWAY_TAILSCALE_PATH")
    expect(await status("tailscale")).toMatchObject({ installed: false, enabled: false, phase: "stopped" })
    const install = await gateway.operator.raw("POST", "/api/tunnels/tailscale/install")
    expect([install.status, codeOf(install)]).toEqual([422, "tunnel_install_refused"])
  })

  it("is refused and closed while strangers would need no key", async () => {
    await act("cloudflared", "enable")
    const pid = pidOf("cloudflared")
    await gateway.operator.setFlag("REQUIRE_API_KEY", "false")
    await dead(pid)
    expect(await eventually(() => status("cloudflared"), ({ phase }) => phase === "error", "the end of the tunnel")).toMatchObject({ lastError: expect.stringContaining("REQUIRE_API_KEY") as string })
    const refused = await gateway.operator.raw("POST", "/api/tunnels/ngrok", { action: "enable" })
    expect([refused.status, codeOf(refused)]).toEqual([409, "tunnel_unguarded"])
    await gateway.operator.setFlag("REQUIRE_API_KEY", "true")
    expect(await act("cloudflared", "enable")).toMatchObject({ success: true })
    const next = pidOf("cloudflared")
    await gateway.operator.call("PUT", "/api/settings/require-login", { requireLogin: false })
    await dead(next)
    expect((await act("cloudflared", "enable").catch(String)).toString()).toContain("tunnel_unguarded")
    await gateway.operator.call("PUT", "/api/settings/require-login", { requireLogin: true })
  })

  it("may be read with every scope, and opened and closed with the strongest only", async () => {
    const send = async (method: string, credential: string, body?: unknown) => (await Http.send(gateway.url, { method, path: "/api/tunnels/ngrok", headers: { authorization: `Bearer ${credential}` }, ...(body === undefined ? {} : { body }) })).status
    const enable = { action: "enable" }
    for (const [scope, expected] of [["read", 403], ["write", 403], ["admin", 200]] as const) {
      const { token } = await gateway.operator.call<{ token: string }>("POST", "/api/cli/tokens", { name: scope, scope })
      expect([await send("GET", token), await send("POST", token, enable)]).toEqual([200, expected])
    }
    expect(await send("POST", (await gateway.operator.createKey("manages", { scopes: ["manage"] })).key, enable)).toBe(403)
    expect((await Http.send(gateway.url, { path: "/api/tunnels/ngrok", body: enable })).status).toBe(401)
  })

  it("ends with the gateway, also when it and what it started do not want to, and is opened by the next start", async () => {
    programs.set({ cloudflared: "stubborn" })
    await act("cloudflared", "enable")
    await act("ngrok", "enable")
    const other = await eventually(async () => programs.called("other").at(-1)?.pid ?? 0, (pid) => pid > 0, "the program that it starts")
    const before = [pidOf("cloudflared"), pidOf("ngrok"), other]
    expect(before.map(TunnelPrograms.isAlive)).toEqual([true, true, true])
    programs.set({ cloudflared: "quick" })
    await gateway.restart()
    expect(before.map(TunnelPrograms.isAlive)).toEqual([false, false, false])
    expect(await eventually(() => status("cloudflared"), ({ running }) => running, "the tunnel after the start")).toMatchObject({ targetUrl: gateway.url })
    expect(programs.called("cloudflared").at(-1)?.args.at(-1)).toBe(gateway.url)
  }, 30_000)
})
