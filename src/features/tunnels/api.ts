import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, governs, reads } from "#schemas/api/Access.ts"
import { Phase } from "./Tunnel.ts"

const Text = Schema.NullOr(Schema.String)

export const TunnelStatus = Schema.Struct({
  /** This node may open tunnels. */
  supported: Schema.Boolean,
  installed: Schema.Boolean,
  enabled: Schema.Boolean,
  running: Schema.Boolean,
  publicUrl: Text,
  /** What clients set as their base URL. */
  apiUrl: Text,
  /** Where it leads to. */
  targetUrl: Schema.String,
  /** `stopped` also until an enabled one has said something. */
  phase: Phase,
  lastError: Text,
  /** Of the phase, ISO 8601. */
  since: Text,
  failures: Schema.Int,
  nextTryAt: Text
}).annotate({ identifier: "TunnelStatus" })
export interface TunnelStatus extends Schema.Schema.Type<typeof TunnelStatus> {}

const Action = Schema.Literals(["enable", "disable"])

/** `success`: the tunnel does not fail, or it is closed. */
const Acted = Schema.Struct({ success: Schema.Boolean, action: Action, status: TunnelStatus }).annotate({ identifier: "TunnelActed" })

const TailscaleFacts = Schema.Struct({
  installed: Schema.Boolean, daemonRunning: Schema.Boolean, ownDaemon: Schema.Boolean, loggedIn: Schema.Boolean,
  backendState: Text, version: Text, dnsName: Text, authUrl: Text, reason: Text
}).annotate({ identifier: "TailscaleFacts" })

const kind = Schema.Struct({ kind: Schema.String })
const at = <const Name extends string>(name: Name) => `/api/tunnels/tailscale/${name}` as const

export const TunnelsGroup = HttpApiGroup.make("tunnels").add(
  HttpApiEndpoint.get("status", "/api/tunnels/:kind", { params: kind, success: TunnelStatus })
    .annotate(Access, reads).annotate(OpenApi.Summary, "A tunnel of this node: cloudflared, ngrok or tailscale"),
  HttpApiEndpoint.post("act", "/api/tunnels/:kind", { params: kind, payload: Schema.Struct({ action: Action }), success: Acted })
    .annotate(Access, governs).annotate(OpenApi.Summary, "Open or close it"),
  HttpApiEndpoint.get("check", at("check"), { success: TailscaleFacts })
    .annotate(Access, governs).annotate(OpenApi.Summary, "How Tailscale stands on this machine"),
  HttpApiEndpoint.post("install", at("install"), { success: Schema.Struct({ success: Schema.Literal(true), status: TunnelStatus }) })
    .annotate(Access, governs).annotate(OpenApi.Summary, "Refused unless it is installed: the gateway installs nothing"),
  HttpApiEndpoint.post("login", at("login"), { success: Schema.Struct({ success: Schema.Literal(true), authUrl: Text }) })
    .annotate(Access, governs).annotate(OpenApi.Summary, "Sign the machine in at the address; null: it is"),
  HttpApiEndpoint.post("enable", at("enable"), { success: Acted }).annotate(Access, governs).annotate(OpenApi.Summary, "Open it"),
  HttpApiEndpoint.post("disable", at("disable"), { success: Acted }).annotate(Access, governs).annotate(OpenApi.Summary, "Close it"),
  HttpApiEndpoint.post("startDaemon", at("start-daemon"), { success: Schema.Struct({ success: Schema.Literal(true), started: Schema.Boolean }) })
    .annotate(Access, governs).annotate(OpenApi.Summary, "Run a tailscaled without root, unless one answers")
).annotateMerge(OpenApi.annotations({ title: "Tunnels", description: "Public addresses of the gateway." }))
