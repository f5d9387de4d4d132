import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import { TunnelsGroup, type TunnelStatus } from "./api.ts"
import * as Programs from "./programs.ts"
import { Tailscale } from "./Tailscale.ts"
import { type Kind, kinds } from "./Tunnel.ts"
import type { TunnelError } from "./TunnelError.ts"
import { Tunnels } from "./Tunnels.ts"

const refusalOf = ({ message, reason }: TunnelError): Refusal.Refusal => {
  switch (reason) {
    case "off":
      return Refusal.forbidden(message, { code: "tunnels_disabled" })
    case "unsupported":
      return Refusal.unprocessable(message, { code: "tunnel_unsupported" })
    case "not_installed":
      return Refusal.unprocessable(message, { code: "tunnel_not_installed" })
    case "unguarded":
      return Refusal.conflict(message, { code: "tunnel_unguarded" })
    case "no_daemon":
      return Refusal.conflict(message, { code: "tailscale_daemon_away" })
    case "failed":
      return Refusal.conflict(message, { code: "tunnel_failed" })
  }
}

const answered = <A, R>(effect: Effect.Effect<A, Refusal.Refusal | TunnelError | StoreError, R>) =>
  answer(Effect.catchTag(effect, "TunnelError", (error) => Effect.fail(refusalOf(error))))

const iso = (ms: number | null): string | null => ms === null ? null : new Date(ms).toISOString()

export const layer = HttpApiBuilder.group(Surface.make(TunnelsGroup), "tunnels", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const tailscale = yield* Tailscale
  const tunnels = yield* Tunnels

  const kindOf = (text: string): Effect.Effect<Kind, Refusal.Refusal> => {
    const kind = kinds.find((known) => known === text)
    return kind === undefined ? Effect.fail(Refusal.notFound(`There is no tunnel '${text.slice(0, 60)}'; there are ${kinds.join(", ")}`)) : Effect.succeed(kind)
  }

  const statusOf = Effect.fnUntraced(function*(kind: Kind) {
    const { isEnabled, state } = tunnels.of(kind)
    const running = state.phase === "running"
    const publicUrl = running ? state.url : null
    return {
      supported: tunnels.options.isOn && process.platform !== "win32", installed: (yield* Programs.find(tunnels.options, kind)) !== null,
      enabled: isEnabled, running, publicUrl, apiUrl: publicUrl === null ? null : `${publicUrl}/v1`, targetUrl: tunnels.target,
      phase: state.phase, lastError: state.lastError, since: iso(state.sinceMs), failures: state.failures, nextTryAt: iso(state.nextTryMs)
    } satisfies TunnelStatus
  })

  const act = Effect.fn("Tunnels.act")(function*(kind: Kind, action: "enable" | "disable") {
    if (action === "enable") yield* tunnels.enable(kind)
    else yield* kind === "tailscale" ? tailscale.disable : tunnels.disable(kind)
    const status = yield* statusOf(kind)
    yield* audit.note({ action: `tunnel.${action}d`, target: kind, resourceType: "tunnel", details: { phase: status.phase, publicUrl: status.publicUrl } })
    return { success: action === "disable" || status.running || status.phase === "stopped", action, status }
  })

  const install = Effect.gen(function*() {
    const status = yield* statusOf("tailscale")
    if (status.installed) return { success: true as const, status }
    return yield* Effect.fail(Refusal.unprocessable(
      `The gateway installs no programs. Install Tailscale on its machine (${Programs.pages.tailscale}), or set ${Programs.settingOf("tailscale")}`, { code: "tunnel_install_refused" }
    ))
  })

  const login = Effect.gen(function*() {
    const authUrl = yield* tailscale.signIn
    yield* audit.note({ action: "tunnel.login", target: "tailscale", resourceType: "tunnel", details: { signedIn: authUrl === null } })
    return { success: true as const, authUrl }
  })

  const startDaemon = Effect.gen(function*() {
    const started = yield* tailscale.startDaemon
    if (started) yield* audit.note({ action: "tunnel.daemon_started", target: "tailscale", resourceType: "tunnel" })
    return { success: true as const, started }
  })

  return handlers.handleAll({
    status: ({ params }) => Effect.flatMap(kindOf(params.kind), statusOf),
    act: ({ params, payload }) => answered(Effect.flatMap(kindOf(params.kind), (kind) => act(kind, payload.action))),
    check: () => tailscale.check,
    install: () => install,
    login: () => answered(login),
    enable: () => answered(act("tailscale", "enable")),
    disable: () => answered(act("tailscale", "disable")),
    startDaemon: () => answered(startDaemon)
  })
}))
