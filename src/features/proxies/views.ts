/** Proxies and assignments as replies show them: credentials masked, provider nodes by their prefix. Pure. */
import { type Snapshot, shownProvider } from "#actors/ports/Configuration.ts"
import type { Proxy, ProxyAssignment } from "#schemas/egress/Proxy.ts"
import { REDACTED } from "#src/management/redact.ts"
import * as Address from "./address.ts"
import type { AssignmentView, ProxyView } from "./api.ts"

export const proxyView = (proxy: Proxy): ProxyView => ({
  ...proxy, username: proxy.username === null ? null : REDACTED, password: proxy.password === null ? null : REDACTED
})

/** Where it is, without its credentials. */
export const originOf = ({ host, port, type }: Pick<Proxy, "host" | "port" | "type">): string => `${type}://${Address.shown(host)}:${port}`

export const shownScopeId = (snapshot: Pick<Snapshot, "nodeById">, { scope, scopeId }: Pick<ProxyAssignment, "scope" | "scopeId">): string | null =>
  scope === "global" ? null : scope === "provider" ? shownProvider(snapshot, scopeId) : scopeId

export const assignmentView = (snapshot: Pick<Snapshot, "nodeById">, assignment: ProxyAssignment): AssignmentView =>
  ({ ...assignment, scopeId: shownScopeId(snapshot, assignment) })
