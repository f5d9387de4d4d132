/** Outbound proxies as the page reads them: their draft in the form, and what a save would send. Pure. */
import type { Answer, Body } from "../../api/contract.ts"
import { changedIn } from "../../format/members.ts"
import type { Difference } from "../../parts/edit/Changes.tsx"

export type Proxy = Extract<Answer<"GET /api/v1/management/proxies">, { readonly items: unknown }>["items"][number]
export type Assignment = Extract<Answer<"GET /api/v1/management/proxies/assignments">, { readonly items: unknown }>["items"][number]
export type Scope = Assignment["scope"]
export type Change = Omit<Body<"PATCH /api/v1/management/proxies">, "id">

export const types = ["http", "https", "socks5"] as const
export const families = ["auto", "ipv4", "ipv6"] as const

export const scopes: Readonly<Record<Scope, { readonly word: string; readonly one: string }>> = {
  global: { word: "All calls", one: "All calls" }, provider: { word: "A provider's calls", one: "Provider" }, account: { word: "A connection's calls", one: "Connection" },
  combo: { word: "A combo's calls", one: "Combo" }, key: { word: "A key's calls", one: "Key" }
}
export const scopeNames = ["global", "provider", "account", "combo", "key"] as const

/** `socks5://proxy.example:1080`; an IPv6 address in brackets. */
export const addressOf = ({ host, port, type }: Pick<Proxy, "host" | "port" | "type">): string => `${type}://${host.includes(":") ? `[${host}]` : host}:${port}`

export interface Draft {
  readonly name: string
  readonly type: Proxy["type"]
  readonly host: string
  readonly port: string
  /** Empty: what is stored stays. */
  readonly username: string
  readonly password: string
  /** The stored credentials go. */
  readonly bare: boolean
  readonly region: string
  readonly notes: string
  readonly family: Proxy["family"]
  readonly active: boolean
}

export const draftOf = (proxy: Proxy | null): Draft => ({
  name: proxy?.name ?? "", type: proxy?.type ?? "http", host: proxy?.host ?? "", port: String(proxy?.port ?? 3128), username: "", password: "", bare: false,
  region: proxy?.region ?? "", notes: proxy?.notes ?? "", family: proxy?.family ?? "auto", active: proxy?.status !== "inactive"
})

const plain = ({ active, family, host, name, notes, port, region, type }: Draft) => ({
  name, type, host, port: Number(port), region: region === "" ? null : region, notes: notes === "" ? null : notes, family, status: active ? "active" as const : "inactive" as const
})

const credentials = ({ bare, password, username }: Draft): Pick<Change, "password" | "username"> =>
  bare ? { username: null, password: null } : { ...(username === "" ? {} : { username }), ...(password === "" ? {} : { password }) }

export const newOf = (draft: Draft): Body<"POST /api/v1/management/proxies"> => ({ ...plain(draft), ...credentials(draft) })

/** Only what differs from what is stored. */
export const changeOf = (draft: Draft, stored: Proxy): Change => {
  return { ...changedIn(plain(draft), plain(draftOf(stored))), ...credentials(draft) }
}

/** No value of a credential is shown. */
export const differencesOf = (draft: Draft, stored: Proxy): ReadonlyArray<Difference> => Object.entries(changeOf(draft, stored)).map(([what, value]) => {
  if (what === "username" || what === "password") return { what, before: stored[what] === null ? "none" : "stored", after: value === null ? "none" : "a new one" }
  return { what, before: String(stored[what as keyof Proxy] ?? "none"), after: String(value ?? "none") }
})
