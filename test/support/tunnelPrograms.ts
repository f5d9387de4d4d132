/**
 * Programs named cloudflared, ngrok, tailscale and tailscaled, in a directory of their own: they say what the vendors' programs say, and
 * open nothing. What they do is chosen by `set`, at any time.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

export interface World {
  /** `quick`: opens. `offline`: ends at once. `stubborn`: opens, ends only when it is killed, and starts another program. `silent`: says nothing. */
  readonly cloudflared: "quick" | "offline" | "stubborn" | "silent"
  /** The machine's own daemon answers. */
  readonly daemon: boolean
  readonly backend: "Running" | "NeedsLogin" | "Stopped"
  readonly funnel: "open" | "consent"
}

export interface Call {
  readonly name: string
  readonly pid: number
  readonly args: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
}

const head = (directory: string) => `#!${process.execPath}
const fs = require("node:fs"), path = require("node:path")
const directory = ${JSON.stringify(directory)}
const name = path.basename(process.argv[1]), args = process.argv.slice(2)
const world = () => JSON.parse(fs.readFileSync(path.join(directory, "world.json"), "utf8"))
const note = (pid, name) => fs.appendFileSync(path.join(directory, "calls.jsonl"), JSON.stringify({ name, pid, args, env: process.env }) + "\\n")
note(process.pid, name)
const stay = () => setInterval(() => {}, 1000)
const when = (ready, then) => { const timer = setInterval(() => { if (ready()) { clearInterval(timer); then() } }, 20) }
`

const cloudflared = `
const say = (level, text) => console.error("2026-11-29T02:32:18Z " + level + " " + text)
say("INF", "Thank you for trying Cloudflare Tunnel. If you intend to use Tunnels in production you should use a pre-created named tunnel by following: https://developers.cloudflare.com/cloudflare-one/connections/connect-apps")
if (process.env.TUNNEL_TOKEN === "wrong") {
  console.error("Provided Tunnel token is not valid.")
  console.error("See 'cloudflared tunnel run --help'.")
  process.exit(255)
}
if (process.env.TUNNEL_TOKEN !== undefined) {
  say("INF", "Starting tunnel tunnelID=11111111-2222-4333-8444-555555555555")
  say("INF", "Registered tunnel connection connIndex=0 connection=bb527b3a-8a27-467b-9fca-84972898be5c event=0 ip=198.41.200.13 location=fra01 protocol=quic")
  const config = { ingress: [{ hostname: "other.example.com", service: "http://localhost:1" }, { hostname: "gateway.example.com", service: fs.readFileSync(path.join(directory, "service"), "utf8") }, { service: "http_status:404" }], "warp-routing": { enabled: false } }
  say("INF", "Updated to new configuration config=" + JSON.stringify(JSON.stringify(config)) + " version=7")
  stay()
} else if (world().cloudflared === "offline") {
  say("INF", "Requesting new quick Tunnel on trycloudflare.com...")
  console.error('failed to request quick Tunnel: Post "https://api.trycloudflare.com/tunnel": dial tcp: lookup api.trycloudflare.com: no such host')
  process.exit(1)
} else if (world().cloudflared === "silent") stay()
else {
  say("INF", "Requesting new quick Tunnel on trycloudflare.com...")
  say("INF", "+--------------------------------------------------------------------------------------------+")
  say("INF", "|  Your quick Tunnel has been created! Visit it at (it may take some time to be reachable):  |")
  say("INF", "|  https://words-for-tests-" + process.pid + ".trycloudflare.com                                        |")
  say("INF", "+--------------------------------------------------------------------------------------------+")
  if (world().cloudflared === "stubborn") {
    process.on("SIGTERM", () => {})
    const other = require("node:child_process").spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"], { stdio: "inherit" })
    note(other.pid, "other")
  }
  say("INF", "Registered tunnel connection connIndex=0 connection=bb527b3a-8a27-467b-9fca-84972898be5c event=0 ip=198.41.200.13 location=fra01 protocol=quic")
  stay()
}
`

const ngrok = `
const say = (entry) => console.log(JSON.stringify({ t: "2026-11-29T02:40:00Z", ...entry }))
say({ lvl: "info", msg: "no configuration paths supplied" })
say({ lvl: "info", msg: "starting web service", obj: "web", addr: "127.0.0.1:4040" })
const token = process.env.NGROK_AUTHTOKEN
const fail = (err) => {
  say({ lvl: "eror", msg: "failed to reconnect session", obj: "tunnels.session", err })
  for (const line of err.trim().split(/[\\r\\n]+/)) console.error("ERROR:  " + line)
  process.exit(1)
}
if (token === undefined) fail("authentication failed: Usage of ngrok requires a verified account and authtoken.\\n\\nSign up for an account: https://dashboard.ngrok.com/signup\\r\\n\\r\\nERR_NGROK_4018\\r\\n")
if (token.startsWith("bad")) fail("authentication failed: The authtoken you specified does not look like a proper ngrok authtoken.\\nYour authtoken: " + token + "\\r\\n\\r\\nERR_NGROK_105\\r\\n")
say({ addr: args[1], lvl: "info", msg: "started tunnel", name: "command_line", obj: "tunnels", url: "https://ab12-203-0-113-7.ngrok-free.app" })
stay()
`

const tailscale = `
const socket = args[0].startsWith("--socket=") ? args.shift().slice("--socket=".length) : null
const isThere = socket === null ? world().daemon : fs.existsSync(socket)
const login = "https://login.tailscale.com/a/abc123"
if (!isThere) {
  console.error("failed to connect to local tailscaled; it doesn't appear to be running (sudo systemctl start tailscaled ?)")
  process.exit(1)
}
const { backend, funnel } = world()
if (args[0] === "status") {
  console.log(JSON.stringify({ Version: "1.90.1-t0123", BackendState: backend, AuthURL: "", Self: { DNSName: "host.tail1234.ts.net.", Online: true } }, null, 2))
} else if (args[0] === "login") {
  console.error("\\nTo authenticate, visit:\\n\\n\\t" + login + "\\n")
  when(() => world().backend === "Running", () => { console.error("Success."); process.exit(0) })
} else if (args[0] === "up") {
  fs.writeFileSync(path.join(directory, "world.json"), JSON.stringify({ ...world(), backend: "Running" }))
} else if (args[0] === "funnel") {
  const open = () => {
    console.log("Available on the internet:\\n\\nhttps://host.tail1234.ts.net/\\n|-- proxy " + args[1] + "\\n\\nPress Ctrl+C to exit.")
    stay()
  }
  if (backend === "NeedsLogin") {
    console.error("Logged out.\\nLog in at: " + login)
    process.exit(1)
  }
  if (backend === "Stopped") {
    console.error("Tailscale is stopped.")
    process.exit(1)
  }
  if (funnel === "consent") {
    console.log("\\nFunnel is not enabled on your tailnet.\\nTo enable, visit:\\n\\n         https://login.tailscale.com/f/funnel?node=n1\\n")
    when(() => world().funnel === "open", () => { console.log("Success."); open() })
  } else open()
}
`

const tailscaled = `
const socket = args.find((one) => one.startsWith("--socket=")).slice("--socket=".length)
if (!args.includes("--tun=userspace-networking")) {
  console.error("tailscaled requires root; use sudo tailscaled (or use --tun=userspace-networking)")
  process.exit(1)
}
fs.writeFileSync(socket, "")
process.on("SIGTERM", () => { fs.rmSync(socket, { force: true }); process.exit(0) })
stay()
`

const bodies = { cloudflared, ngrok, tailscale, tailscaled }

export type Name = keyof typeof bodies

/** Of a process of any state but the dead ones that nothing has waited for. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}

export const make = (...names: ReadonlyArray<Name>) => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "tunnels-"))
  const calls = path.join(directory, "calls.jsonl")
  let world: World = { cloudflared: "quick", daemon: true, backend: "Running", funnel: "open" }
  const set = (changes: Partial<World>): void => {
    world = { ...world, ...changes }
    // In one step: a program never reads half of it.
    fs.writeFileSync(path.join(directory, "next.json"), JSON.stringify(world))
    fs.renameSync(path.join(directory, "next.json"), path.join(directory, "world.json"))
  }
  set({})
  fs.writeFileSync(calls, "")
  for (const name of names.length === 0 ? Object.keys(bodies) as ReadonlyArray<Name> : names) {
    fs.writeFileSync(path.join(directory, name), head(directory) + bodies[name], { mode: 0o755 })
  }
  const called = (name?: string): ReadonlyArray<Call> => fs.readFileSync(calls, "utf8").split("\n").filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Call).filter((call) => name === undefined || call.name === name)
  return {
    directory, set, called,
    /** Where Cloudflare's configuration of a named tunnel leads to. */
    leadTo: (service: string) => fs.writeFileSync(path.join(directory, "service"), service),
    alive: () => called().filter(({ pid }) => isAlive(pid)),
    remove: () => fs.rmSync(directory, { recursive: true, force: true })
  }
}

export type TunnelPrograms = ReturnType<typeof make>
