/** The one guard for every outgoing URL: resolved once, validated, pinned, re-validated per redirect. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** What the URL is for; decides which ranges a flag may open. Cloud metadata stays blocked under every flag. */
export type UrlPurpose = "provider" | "webhook" | "media" | "web-fetch" | "proxy" | "polling" | "oidc"

export class UrlBlocked extends Schema.TaggedError<UrlBlocked>()("UrlBlocked", {
  url: Schema.String,
  reason: Schema.Literals(["malformed", "scheme", "credentials", "loopback", "private", "link-local", "metadata", "multicast", "unspecified", "unresolvable"]),
  message: Schema.String
}) {}

export class UrlGuard extends Context.Service<UrlGuard, {
  /** Resolves and checks; answers the addresses the connection must be pinned to. */
  readonly check: (url: string, purpose: UrlPurpose) => Effect.Effect<ReadonlyArray<string>, UrlBlocked>
  /** Checks one resolved address of a host synchronously: null when allowed, else why not. Used on every connect. */
  readonly checkAddress: (host: string, address: string, purpose: UrlPurpose) => UrlBlocked | null
}>()("gateway/ports/UrlGuard") {}

/** Checks an address that is kept for later calls: a name that cannot be resolved now is resolved, and judged, by each of them. */
export const checkKept = (guard: UrlGuard["Service"], url: string, purpose: UrlPurpose): Effect.Effect<void, UrlBlocked> =>
  guard.check(url, purpose).pipe(Effect.asVoid, Effect.catchTag("UrlBlocked", (blocked) => blocked.reason === "unresolvable" ? Effect.void : Effect.fail(blocked)))
