/** The states of a tunnel, and what the lines of the vendors' programs say. */
import { describe, expect, it } from "vitest"
import * as Readers from "#src/features/tunnels/readers.ts"
import { factsIn } from "#src/features/tunnels/Tailscale.ts"
import * as Tunnel from "#src/features/tunnels/Tunnel.ts"
import { chance } from "#test/support/chance.ts"

const TARGET = "http://127.0.0.1:20128"
const heard = (kind: Tunnel.Kind, ...lines: ReadonlyArray<string>) => lines.flatMap(Readers.readerOf(kind, TARGET))
const run = (...events: ReadonlyArray<Tunnel.Event>) => events.reduce((state, event) => Tunnel.next(state, event, 1_000), Tunnel.stopped)
const url: Tunnel.Event = { _tag: "Url", url: "https://a.example" }
const ended: Tunnel.Event = { _tag: "Ended", message: "it ended" }
const connected: Tunnel.Event = { _tag: "Connected" }
const asks: Tunnel.Event = { _tag: "NeedsAuth", message: "sign in", authUrl: "https://login.example/a" }

describe("a tunnel", () => {
  it("runs when its address is known and it is connected, in either order", () => {
    expect(run({ _tag: "Started" }, url).phase).toBe("stopped")
    expect(run({ _tag: "Started" }, connected).phase).toBe("stopped")
    for (const events of [[url, connected], [connected, url]] as const) expect(run({ _tag: "Started" }, ...events)).toMatchObject({ phase: "running", url: "https://a.example", sinceMs: 1_000 })
  })

  it("waits for its operator as long as its program does, and when it ends for that", () => {
    expect(run({ _tag: "Started" }, asks)).toMatchObject({ phase: "needs_auth", lastError: "sign in", authUrl: "https://login.example/a", nextTryMs: null })
    expect(run({ _tag: "Started" }, asks, { _tag: "Problem", message: "less" }, ended)).toMatchObject({ phase: "needs_auth", lastError: "sign in", nextTryMs: 1_000 + Tunnel.backoff.mostMs })
    expect(run({ _tag: "Started" }, asks, url, connected)).toMatchObject({ phase: "running", authUrl: null, lastError: null })
    // The next life fails for another reason.
    expect(run({ _tag: "Started" }, asks, ended, { _tag: "Started" }, ended)).toMatchObject({ phase: "error", lastError: "it ended", authUrl: null })
  })

  it("waits longer after each short life, begins anew after a long one, and shows an address only while it runs", () => {
    const { below, one, seed } = chance()
    const events: ReadonlyArray<Tunnel.Event> = [{ _tag: "Started" }, url, connected, asks, ended, { _tag: "Problem", message: "p" }]
    let [now, state, well] = [1_000, Tunnel.stopped, 0]
    for (let step = 0; step < 5_000; step++) {
      const event = one(events)
      now += below(40_000)
      const before = state
      state = Tunnel.next(before, event, now)
      if (state.phase === "running") expect(state, `seed ${seed}`).toMatchObject({ url: "https://a.example", isConnected: true, nextTryMs: null })
      if (event._tag !== "Ended") continue
      const wasWell = before.phase === "running" && now - (before.sinceMs ?? now) >= Tunnel.WELL_MS
      if (wasWell) well++
      expect(state.failures, `seed ${seed}`).toBe(wasWell ? 1 : before.failures + 1)
      expect(state.url).toBeNull()
      const waitMs = (state.nextTryMs ?? 0) - now
      expect(waitMs, `seed ${seed}`).toBe(state.phase === "needs_auth" ? Tunnel.backoff.mostMs : Math.min(Tunnel.backoff.mostMs, Tunnel.backoff.firstMs * 2 ** (state.failures - 1)))
    }
    expect(well).toBeGreaterThan(0)
  })
})

describe("lines", () => {
  it("of cloudflared: the quick tunnel's address, connections, and errors; never an address of Cloudflare itself", () => {
    const at = "2026-11-29T02:32:18Z"
    expect(heard("cloudflared",
      `${at} INF Thank you for trying Cloudflare Tunnel: https://developers.cloudflare.com/cloudflare-one/connections/connect-apps`,
      `${at} INF Requesting new quick Tunnel on trycloudflare.com...`,
      `${at} INF |  https://example-words-for-tests.trycloudflare.com                                        |`,
      `${at} INF Settings: map[ha-connections:1 no-autoupdate:true protocol:quic url:http://127.0.0.1:4142]`,
      `${at} INF Registered tunnel connection connIndex=0 connection=bb527b3a event=0 ip=2606:4700:a8::1 location=del04 protocol=quic`,
      `${at} INF Unregistered tunnel connection connIndex=0`,
      `${at} ERR Failed to dial a quic connection error="timeout: no recent network activity" connIndex=0`
    )).toEqual([
      { _tag: "Url", url: "https://example-words-for-tests.trycloudflare.com" }, connected,
      { _tag: "Problem", message: "Failed to dial a quic connection error=\"timeout: no recent network activity\" connIndex=0" }
    ])
    expect(heard("cloudflared", "failed to request quick Tunnel: Post \"https://api.trycloudflare.com/tunnel\": dial tcp: no such host")).toEqual([
      { _tag: "Problem", message: "failed to request quick Tunnel: Post \"https://api.trycloudflare.com/tunnel\": dial tcp: no such host" }
    ])
    expect(heard("cloudflared", "Provided Tunnel token is not valid.")[0]).toMatchObject({ _tag: "NeedsAuth" })
  })

  it("of cloudflared with a token: the public hostname whose service is the gateway", () => {
    const line = (config: unknown) => `2026-11-29T02:32:18Z INF Updated to new configuration config=${JSON.stringify(JSON.stringify(config))} version=1`
    const rules = [{ hostname: "other.example.com", service: "http://localhost:8080" }, { hostname: "own.example.com", service: "http://localhost:20128" }, { service: "http_status:404" }]
    expect(heard("cloudflared", line({ ingress: rules }))).toEqual([{ _tag: "Url", url: "https://own.example.com" }])
    expect(heard("cloudflared", line({ ingress: rules.slice(0, 1) }))).toEqual([{ _tag: "Problem", message: expect.stringContaining(`No public hostname of the tunnel leads to ${TARGET}`) as string }])
    expect(heard("cloudflared", line(null), line({ ingress: [null, 1] }))).toHaveLength(2)
  })

  it("of ngrok: JSON, and errors before the log begins", () => {
    const started = { addr: TARGET, lvl: "info", msg: "started tunnel", name: "command_line", obj: "tunnels", url: "https://ab12.ngrok-free.app" }
    expect(heard("ngrok", JSON.stringify(started), JSON.stringify({ ...started, url: "tcp://0.tcp.ngrok.io:1" }), "{\"broken", "")).toEqual([{ _tag: "Url", url: "https://ab12.ngrok-free.app" }, connected])
    const refused = { lvl: "eror", msg: "failed to reconnect session", err: "authentication failed\r\n\r\nERR_NGROK_4018\r\n" }
    expect(heard("ngrok", JSON.stringify(refused))[0]).toMatchObject({ _tag: "NeedsAuth", authUrl: null })
    expect(heard("ngrok", JSON.stringify({ ...refused, err: "Your account is limited to 1 simultaneous ngrok agent sessions. ERR_NGROK_108" }))[0]).toMatchObject({ _tag: "Problem" })
    expect(heard("ngrok", "ERROR:  unknown command")).toEqual([{ _tag: "Problem", message: "unknown command" }])
  })

  it("of tailscale: Funnel's address, and addresses to sign in or to agree at", () => {
    expect(heard("tailscale", "Available on the internet:", "", "https://host.tail1234.ts.net/", "|-- proxy http://127.0.0.1:20128", "", "Press Ctrl+C to exit.")).toEqual([
      { _tag: "Url", url: "https://host.tail1234.ts.net" }, connected
    ])
    // The message is for every reader, the address for administrators.
    expect(heard("tailscale", "         https://login.tailscale.com/f/funnel?node=n1")).toEqual([{
      _tag: "NeedsAuth", authUrl: "https://login.tailscale.com/f/funnel?node=n1", message: expect.not.stringContaining("login.tailscale.com") as string
    }])
    expect(heard("tailscale", "Logged out.", "Log in at: https://login.tailscale.com/a/1")).toMatchObject([{ _tag: "NeedsAuth" }, { authUrl: "https://login.tailscale.com/a/1" }])
    expect(heard("tailscale", "failed to connect to local tailscaled; it doesn't appear to be running")).toMatchObject([{ _tag: "Problem" }])
  })

  it("are kept short, without credentials", () => {
    expect(Readers.words("Your authtoken: 2abc_def\nand s3cret", "s3cret")).toBe("Your authtoken: [redacted] and [redacted]")
    expect(Readers.words("x".repeat(10_000), null)).toHaveLength(500)
  })

  it("of tailscale's status: what the daemon says of the machine", () => {
    expect(factsIn(JSON.stringify({ Version: "1.90.1", BackendState: "Running", AuthURL: "", Self: { DNSName: "h.tail.ts.net." } })))
      .toEqual({ backendState: "Running", loggedIn: true, version: "1.90.1", dnsName: "h.tail.ts.net", authUrl: null })
    expect(factsIn(JSON.stringify({ BackendState: "NeedsLogin", AuthURL: "https://l/a", Self: null }))).toMatchObject({ loggedIn: false, authUrl: "https://l/a", dnsName: null })
    expect([factsIn(""), factsIn("[]"), factsIn("{}")]).toEqual([null, null, null])
  })
})
