/** The operator's client at a provider's authorization server: its row, with the id and secret from the environment. */
import * as Redacted from "effect/Redacted"
import type { Provider, ProviderOAuth } from "#schemas/Provider.ts"

export type Environment = Readonly<Record<string, string | undefined>>

/** What fills `{name}` in the row's URLs. */
export type Placeholders = Readonly<Record<string, unknown>>

export interface OAuthClient {
  readonly oauth: ProviderOAuth
  readonly id: string
  readonly secret: Redacted.Redacted<string> | null
  /** A URL of the row with its placeholders filled; null when one has no value. */
  readonly url: (template: string, values: Placeholders) => string | null
}

const set = (value: string | undefined): string | null => {
  const trimmed = value?.trim() ?? ""
  return trimmed === "" ? null : trimmed
}

/** Null when the client id is not set. */
export const of = (row: Pick<Provider, "defaults">, oauth: ProviderOAuth, environment: Environment): OAuthClient | null => {
  const id = set(environment[oauth.clientId])
  if (id === null) return null
  const secret = oauth.clientSecret === undefined ? null : set(environment[oauth.clientSecret])
  return {
    oauth,
    id,
    secret: secret === null ? null : Redacted.make(secret),
    url: (template, values) => {
      let missing = false
      const filled = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
        const given = values[name]
        const value = typeof given === "string" && given !== "" ? given : row.defaults?.[name]
        if (value === undefined) missing = true
        return encodeURIComponent(value ?? "")
      })
      return missing || !URL.canParse(filled) ? null : filled
    }
  }
}

/** The members every token request of this client has. */
export const form = (client: OAuthClient): Record<string, string> => ({
  ...client.oauth.tokenParams,
  client_id: client.id,
  ...(client.secret === null ? {} : { client_secret: Redacted.value(client.secret) })
})

/** A refresh request. */
export const refreshForm = (client: OAuthClient, refreshToken: string): Record<string, string> => ({
  ...form(client), grant_type: "refresh_token", refresh_token: refreshToken
})
