/** What the management surface needs to know of its process; filled by the wiring from the environment. */
import * as Context from "effect/Context"
import type * as Redacted from "effect/Redacted"

export class ManagementOptions extends Context.Service<ManagementOptions, {
  /** Stable id of this machine; part of key records and of the local command line's token. */
  readonly machineId: string
  /** JWT_SECRET; null derives the signing key from the master secret. */
  readonly jwtSecret: Redacted.Redacted<string> | null
  /** AUTH_COOKIE_SECURE: Secure cookies although the gateway itself uses http. */
  readonly cookieSecure: boolean
  /** INITIAL_PASSWORD, accepted while no password is stored. */
  readonly initialPassword: Redacted.Redacted<string> | null
  /** The gateway's own address as browsers see it (GATEWAY_PUBLIC_URL), without a slash at its end. */
  readonly publicUrl: string
  /** Port that clients and the dashboard share. */
  readonly port: number
  /** Longest wait for the record of the caller, ms. */
  readonly lookUpMs: number
  /** How old a node's model list may grow before its endpoint is asked again, ms; 0 = never asked. */
  readonly modelListsEveryMs: number
}>()("gateway/http/ManagementOptions") {}
