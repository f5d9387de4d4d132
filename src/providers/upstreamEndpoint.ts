/** Where a provider is called and with which headers: a registry row or node plus one connection. Pure. */
import * as Redacted from "effect/Redacted"
import type { Connection } from "#schemas/records/Connection.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import type { Provider, ProviderAuth } from "#schemas/Provider.ts"
import type { FamilyName } from "#schemas/wire/conversation.ts"
import { isExchanged, kindOf, projectOf } from "./credentialKind.ts"

export interface UpstreamEndpoint {
  readonly origin: string
  readonly path: string
  /** Flat, lower-case names; holds the credential unless `tokenFrom` says where it comes from. */
  readonly headers: ReadonlyArray<string>
  /** The connection whose short-lived token is sent as Bearer, asked for before each call; null when the headers are whole. */
  readonly tokenFrom: string | null
}

/** Why an endpoint cannot be built: names what the operator must fill in. */
export interface EndpointMissing {
  readonly _tag: "EndpointMissing"
  readonly message: string
}

const dataOf = (connection: Connection | null, key: string): string | null => {
  const value = connection === null ? undefined : connection.providerSpecificData[key]
  return typeof value === "string" && value !== "" ? value : null
}

/** The credential of a connection as the vendor wants it: API key, else OAuth access token. */
export const credentialOf = (connection: Connection | null): string | null => {
  if (connection === null) return null
  const secret = connection.authType === "oauth" ? connection.accessToken : connection.apiKey ?? connection.accessToken
  return secret === null ? null : Redacted.value(secret)
}

const missing = (message: string): EndpointMissing => ({ _tag: "EndpointMissing", message })

type Defaults = Readonly<Record<string, string>> | undefined

const valueOf = (name: string, connection: Connection | null, defaults: Defaults): string | null =>
  dataOf(connection, name) ?? (name === "project" && connection !== null ? projectOf(connection) : null) ?? defaults?.[name] ?? null

/** Fills `{name}` from the connection's providerSpecificData, else the row's defaults; `{model}` from the request. */
const fill = (template: string, connection: Connection | null, model: string, defaults: Defaults): string | EndpointMissing => {
  let unknown: string | null = null
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = name === "model" ? model : valueOf(name, connection, defaults)
    if (value === null) unknown ??= name
    return encodeURIComponent(value ?? "")
  })
  return unknown === null ? filled : missing(`The connection lacks providerSpecificData.${String(unknown)}.`)
}

const locate = (base: string, path: string): { readonly origin: string; readonly path: string } | EndpointMissing => {
  const text = path.startsWith("https://") ? path : base.replace(/\/+$/, "") + path
  try {
    const url = new URL(text)
    return { origin: url.origin, path: url.pathname + url.search }
  } catch {
    return missing(`'${text}' is no URL.`)
  }
}

const withQuery = (path: string, name: string, value: string): string =>
  `${path}${path.includes("?") ? "&" : "?"}${encodeURIComponent(name)}=${encodeURIComponent(value)}`

const common = ["content-type", "application/json", "accept-encoding", "identity"]

/** Endpoint of a registry provider. `path` is one of the row's own (chatPath, modelsPath, paths[...]). */
export const ofProvider = (
  row: Provider,
  connection: Connection | null,
  rowPath: string,
  model: string,
  baseUrl: string | null
): UpstreamEndpoint | EndpointMissing => {
  const region = valueOf("region", connection, row.defaults)
  const regional = region === null ? undefined : row.regionalBaseUrls?.[region]
  const base = dataOf(connection, "baseUrl") ?? baseUrl ?? regional ?? row.baseUrl
  if (base === "") return missing(`Provider ${row.id} has no base URL: set providerSpecificData.baseUrl of the connection.`)
  const filled = fill(`${base.replace(/\/+$/, "")}\u0000${rowPath}`, connection, model, row.defaults)
  if (typeof filled !== "string") return filled
  const [filledBase, filledPath] = filled.split("\u0000") as [string, string]
  const place = locate(filledBase, filledPath)
  if ("_tag" in place) return place
  const headers = [...common]
  for (const [name, value] of Object.entries(row.headers ?? {})) headers.push(name.toLowerCase(), value)
  const agent = dataOf(connection, "customUserAgent")
  if (agent !== null) headers.push("user-agent", agent)
  const exchanged = isExchanged(kindOf(connection, row))
  const secret = exchanged ? null : credentialOf(connection)
  let path = place.path
  if (exchanged || connection?.authType === "oauth") {
    for (const [name, value] of Object.entries(row.tokenHeaders ?? {})) headers.push(name.toLowerCase(), value)
  }
  if (secret !== null) {
    // A token is a Bearer everywhere; `auth` says how the provider's own keys travel.
    const auth: ProviderAuth = connection?.authType === "oauth" ? { type: "bearer" } : row.auth
    switch (auth.type) {
      case "bearer":
      case "oauth":
        headers.push("authorization", `Bearer ${secret}`)
        break
      case "header":
        headers.push(auth.name.toLowerCase(), (auth.prefix ?? "") + secret)
        break
      case "query":
        path = withQuery(path, auth.name, secret)
        break
      case "none":
        break
    }
  }
  return { origin: place.origin, path, headers, tokenFrom: exchanged ? (connection as Connection).id : null }
}

/** The credential as servers of a format want it. */
const keyHeaders = (family: FamilyName, secret: string, isToken: boolean): ReadonlyArray<string> => {
  if (family === "messages") return isToken ? ["authorization", `Bearer ${secret}`, ...messagesVersion] : ["x-api-key", secret, ...messagesVersion]
  return family === "generateContent" && !isToken ? ["x-goog-api-key", secret] : ["authorization", `Bearer ${secret}`]
}

const messagesVersion = ["anthropic-version", "2023-06-01"]

/**
 * Endpoint of a provider node: OpenAI type by Bearer, Anthropic type by x-api-key. `called`: the model that is called in another format than
 * the node's, and the format; its id fills `{model}`.
 */
export const ofNode = (
  node: ProviderNode, connection: Connection | null, path: string, called: { readonly family: FamilyName; readonly model: string } | null = null
): UpstreamEndpoint | EndpointMissing => {
  const place = locate(dataOf(connection, "baseUrl") ?? node.baseUrl, called === null ? path : path.replaceAll("{model}", () => encodeURIComponent(called.model)))
  if ("_tag" in place) return place
  const headers = [...common]
  for (const [name, value] of Object.entries(node.customHeaders)) headers.push(name.toLowerCase(), value)
  const agent = dataOf(connection, "customUserAgent")
  if (agent !== null) headers.push("user-agent", agent)
  const exchanged = isExchanged(kindOf(connection, null))
  const secret = exchanged ? null : credentialOf(connection)
  if (secret !== null) {
    if (called !== null) headers.push(...keyHeaders(called.family, secret, connection?.authType === "oauth"))
    else if (node.type === "anthropic-compatible") headers.push("x-api-key", secret, ...messagesVersion)
    else headers.push("authorization", `Bearer ${secret}`)
  }
  return { origin: place.origin, path: place.path, headers, tokenFrom: exchanged ? (connection as Connection).id : null }
}
