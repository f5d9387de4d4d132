/** What the gate of the management API asks of each endpoint. */
import * as Context from "effect/Context"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import { Access, type AccessRule, FrameErrors } from "#schemas/api/Access.ts"
import * as RouteTable from "#schemas/api/RouteTable.ts"
import { type Input, inputOf } from "#src/management/input.ts"
import * as ReadBack from "#src/management/sentBack/ReadBack.ts"
import * as Origin from "#src/platform/gate/origin.ts"

/** What is known of an endpoint before the first request. */
export interface EndpointGate {
  readonly rule: AccessRule | null
  readonly path: string
  readonly fits: (path: string) => boolean
  readonly parametric: boolean
  readonly takesBody: boolean
  readonly input: Input
  /** A record may come back whole, as GET of the same path shows it. */
  readonly readBack: ReadBack.ReadBack | null
  /** An operator changes something here: the call waits for a slow store of shared state. */
  readonly waits: boolean
  /** How its refusals are written. */
  readonly refusals: "management" | "frames" | "client"
}

/** Signing in, here and to providers, answers in the time of a request: a password is checked without shared state, too. */
const signIns: ReadonlySet<string> = new Set(["auth", "oauth"])

/** Groups whose calls below /v1 belong to the inference surface: those of the OpenAI API, and what clients ask before they issue keys. */
const clientGroups: ReadonlySet<string> = new Set(["files", "batches", "registeredKeys"])

/** Clients of the inference surface call it, and read its errors. What an operator changes there is the management API's. */
export const isClients = ({ access, group, path }: Pick<RouteTable.RouteRule, "access" | "group" | "path">): boolean =>
  group === "inference" || (clientGroups.has(group) && path.startsWith("/v1/") && access?.tier === "CLIENT_API")

export const gateOf = (endpoint: HttpApiEndpoint.Top, group: string): EndpointGate => {
  const pattern = RouteTable.compilePath(endpoint.path)
  const rule = Context.getOrUndefined(endpoint.annotations, Access) ?? null
  return {
    rule,
    path: endpoint.path,
    fits: (path) => pattern.test(path),
    parametric: endpoint.path.includes(":"),
    takesBody: endpoint.payload.size > 0 && Origin.isMutation(endpoint.method),
    input: inputOf(endpoint),
    readBack: ReadBack.of(endpoint),
    waits: Origin.isMutation(endpoint.method) && !signIns.has(group) && (rule?.tier === "MANAGEMENT" || rule?.tier === "ALWAYS_PROTECTED"),
    refusals: Context.getOrUndefined(endpoint.annotations, FrameErrors) === true ? "frames" : isClients({ access: rule, group, path: endpoint.path }) ? "client" : "management"
  }
}
