/** Several processes of one machine: the first runs the programs, and every one tells how they stand and answers by their names. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { afterAll, describe, expect, it } from "vitest"
import { ChangeFeed, type News } from "#actors/ports/ChangeFeed.ts"
import { Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Tailscale from "#src/features/tunnels/Tailscale.ts"
import * as Tunnels from "#src/features/tunnels/Tunnels.ts"
import * as TunnelsOptions from "#src/features/tunnels/TunnelsOptions.ts"
import * as Settings from "#src/platform/configuration/Settings.ts"
import * as PublicNames from "#src/platform/gate/publicNames.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import { eventually } from "#test/support/operator.ts"
import * as TunnelPrograms from "#test/support/tunnelPrograms.ts"

const programs = TunnelPrograms.make("cloudflared", "ngrok", "tailscale")
afterAll(programs.remove)

const optionsOf = async (environment: Record<string, string>) => {
  const given = { GATEWAY_TUNNELS: "on", PATH: programs.directory, GATEWAY_DATA_DIR: "/data", ...environment }
  return TunnelsOptions.of({ ...await Effect.runPromise(Effect.fromResult(Settings.decode(given))), environment: given })
}

/** One store, and the word of its changes to all processes. */
const machine = () => {
  const documents = new Map<string, unknown>()
  const listeners = new Set<(news: News) => Effect.Effect<void, StoreError>>()
  let version = 0
  const told = (key: string) => Effect.promise(async () => {
    version++
    // Word of a change comes after it, and not to the writer's fiber.
    for (const listener of listeners) setImmediate(() => void Effect.runPromiseExit(listener({ version, changes: [{ kind: "document", id: key }] })))
  })
  const store = {
    list: (kind: string) => Effect.sync(() => new Map([...documents].filter(([key]) => key.startsWith(`${kind}/`)).map(([key, value]) => [key.slice(kind.length + 1), value]))),
    put: (kind: string, key: string, value: unknown) => Effect.andThen(Effect.sync(() => void documents.set(`${kind}/${key}`, value)), told(`${kind}/${key}`)),
    remove: (kind: string, key: string) => Effect.tap(Effect.sync(() => documents.delete(`${kind}/${key}`)), () => told(`${kind}/${key}`))
  }
  const start = async (environment: Record<string, string>) => {
    const names = PublicNames.make()
    const scope = Scope.makeUnsafe()
    const services = await Effect.runPromise(Layer.buildWithScope(Tailscale.layer.pipe(Layer.provideMerge(Tunnels.layer(await optionsOf(environment)))), scope).pipe(
      Effect.provideService(DocumentStore, store as unknown as DocumentStore["Service"]),
      Effect.provideService(ChangeFeed, {
        announce: () => {}, hear: (listener: (news: News) => Effect.Effect<void, StoreError>) => Effect.acquireRelease(
          Effect.sync(() => listeners.add(listener)), () => Effect.sync(() => listeners.delete(listener))
        )
      } as unknown as ChangeFeed["Service"]),
      Effect.provideService(Configuration, { current: () => ({ settings: new Map() }) as unknown as Snapshot, onChange: () => () => {} } as unknown as Configuration["Service"]),
      Effect.provideService(Flags, { isOn: () => true } as unknown as Flags["Service"]),
      Effect.provideService(FrontEnd, { port: 20128 } as unknown as FrontEnd["Service"]),
      Effect.provideService(PublicNames.PublicNames, names)
    ))
    return { tunnels: Context.get(services, Tunnels.Tunnels), tailscale: Context.get(services, Tailscale.Tailscale), names, close: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
  }
  return { start }
}

describe("tunnels of several processes", () => {
  it("run in the first one, at the word of any, and all know them", async () => {
    const { start } = machine()
    const [first, second] = [await start({ GATEWAY_WORKER: "1" }), await start({ GATEWAY_WORKER: "2" })]
    await Effect.runPromise(second.tunnels.enable("cloudflared"))
    expect(second.tunnels.of("cloudflared")).toMatchObject({ isEnabled: true, state: { phase: "running" } })
    expect(programs.called("cloudflared")).toHaveLength(1)
    const host = new URL(second.tunnels.of("cloudflared").state.url ?? "").host
    expect([first.names.has(host), second.names.has(host)]).toEqual([true, true])
    await Effect.runPromise(second.tunnels.disable("cloudflared"))
    await eventually(async () => programs.alive(), (alive) => alive.length === 0, "the end of the program")
    await eventually(async () => first.names.has(host) || second.names.has(host), (known) => !known, "the end of the name")
    expect(second.tunnels.of("cloudflared")).toMatchObject({ isEnabled: false, state: { phase: "stopped" } })
    await second.close()
    await first.close()
  })

  it("of another machine are its own", async () => {
    const { start } = machine()
    const [here, there] = [await start({ GATEWAY_NODE_ID: "here" }), await start({ GATEWAY_NODE_ID: "there" })]
    const before = programs.called("ngrok").length
    await Effect.runPromise(here.tunnels.enable("ngrok"))
    expect(programs.called("ngrok")).toHaveLength(before + 1)
    expect([here, there].map(({ tunnels }) => tunnels.of("ngrok").isEnabled)).toEqual([true, false])
    // There is no token: an account must be named.
    expect(here.tunnels.of("ngrok").state).toMatchObject({ phase: "needs_auth", lastError: expect.stringMatching(/ERR_NGROK_4018: set GATEWAY_NGROK_AUTHTOKEN/) as string })
    await here.close()
    await there.close()
    expect(programs.alive()).toEqual([])
  })

  it("are refused while GATEWAY_TUNNELS is off, and what was enabled before does not start", async () => {
    const { start } = machine()
    const on = await start({})
    await Effect.runPromise(on.tunnels.enable("cloudflared"))
    await on.close()
    const before = programs.called().length
    const off = await start({ GATEWAY_TUNNELS: "off" })
    expect(off.tunnels.of("cloudflared")).toMatchObject({ isEnabled: true, state: { phase: "stopped" } })
    expect(await Effect.runPromise(Effect.flip(off.tunnels.enable("ngrok")))).toMatchObject({ reason: "off", message: expect.stringContaining("GATEWAY_TUNNELS") as string })
    expect(await Effect.runPromise(off.tailscale.check)).toMatchObject({ installed: true, daemonRunning: false, reason: expect.stringContaining("GATEWAY_TUNNELS") as string })
    for (const act of [Effect.asVoid(off.tailscale.signIn), Effect.asVoid(off.tailscale.startDaemon)]) expect(await Effect.runPromise(Effect.flip(act))).toMatchObject({ reason: "off" })
    expect(programs.called()).toHaveLength(before)
    // By the time another machine's tunnel stands, one that began before it would have called its program.
    const other = await start({ GATEWAY_NODE_ID: "other" })
    await Effect.runPromise(other.tunnels.enable("cloudflared"))
    expect(programs.called()).toHaveLength(before + 1)
    await other.close()
    await off.close()
  })
})

describe("a token", () => {
  it("of Cloudflare opens a tunnel of its dashboard, and is neither an argument nor in an error", async () => {
    const { start } = machine()
    programs.leadTo("http://localhost:20128")
    const good = await start({ GATEWAY_CLOUDFLARED_TOKEN: "token-of-a-tunnel" })
    await Effect.runPromise(good.tunnels.enable("cloudflared"))
    expect(good.tunnels.of("cloudflared").state).toMatchObject({ phase: "running", url: "https://gateway.example.com" })
    const call = programs.called("cloudflared").at(-1)
    expect([call?.args, call?.env["TUNNEL_TOKEN"]]).toEqual([["tunnel", "--no-autoupdate", "run"], "token-of-a-tunnel"])
    await good.close()
    const wrong = await start({ GATEWAY_CLOUDFLARED_TOKEN: "wrong" })
    await Effect.runPromise(wrong.tunnels.enable("cloudflared"))
    expect(wrong.tunnels.of("cloudflared").state).toMatchObject({ phase: "needs_auth", lastError: expect.stringContaining("GATEWAY_CLOUDFLARED_TOKEN") as string })
    await wrong.close()
  })

  it("of ngrok that is refused is not shown", async () => {
    const { start } = machine()
    const { close, tunnels } = await start({ GATEWAY_NGROK_AUTHTOKEN: "bad-token-of-ngrok" })
    await Effect.runPromise(tunnels.enable("ngrok"))
    expect(tunnels.of("ngrok").state).toMatchObject({ phase: "needs_auth", lastError: expect.stringContaining("ERR_NGROK_105") as string })
    expect(JSON.stringify(tunnels.of("ngrok").state)).not.toContain("bad-token")
    expect(Redacted.isRedacted(tunnels.options.ngrokToken)).toBe(true)
    await close()
  })
})

describe("where a tunnel leads to", () => {
  it("is where the gateway listens, over TLS when it does", async () => {
    const targets = await Promise.all([{}, { HOST: "0.0.0.0" }, { HOST: "::" }, { HOST: "10.0.0.5" }, { HOST: "fd00::1" }, { GATEWAY_TLS_CERT: "c", GATEWAY_TLS_KEY: "k" }].map(async (environment: Record<string, string>) => (await optionsOf(environment)).targetOf(7)))
    expect(targets).toEqual(["http://127.0.0.1:7", "http://127.0.0.1:7", "http://127.0.0.1:7", "http://10.0.0.5:7", "http://[fd00::1]:7", "https://127.0.0.1:7"])
  })
})
