/** What an issuer says of itself (OpenID Connect Discovery 1.0, section 3), as far as a sign-in needs it. Pure. */
import * as Issuer from "#schemas/api/issuer.ts"

export interface Metadata {
  readonly issuer: string
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly jwksUri: string
  /** How the client proves itself to the token endpoint; `basic` unless the issuer takes the form only. */
  readonly secretIn: "basic" | "form"
}

type Json = Readonly<Record<string, unknown>>

const shown = (value: unknown): string => typeof value === "string" ? `'${value.slice(0, 200)}'` : "missing"

/** The metadata, or what is wrong with them as a clause after "the issuer ...". */
export const read = (json: Json, issuer: string): Metadata | string => {
  // An issuer that speaks for another one could sign in that one's people.
  if (json["issuer"] !== issuer) return `calls itself ${shown(json["issuer"])}, and oidcIssuer is '${issuer}': both must be equal to the letter`
  const plain = issuer.startsWith("http:")
  const endpoint = (name: string): string | null => {
    const value = json[name]
    return typeof value === "string" && Issuer.isSafe(value) && (plain || value.toLowerCase().startsWith("https:")) ? value : null
  }
  const authorizationEndpoint = endpoint("authorization_endpoint")
  const tokenEndpoint = endpoint("token_endpoint")
  const jwksUri = endpoint("jwks_uri")
  if (authorizationEndpoint === null) return "names no https authorization_endpoint"
  if (tokenEndpoint === null) return "names no https token_endpoint"
  if (jwksUri === null) return "names no https jwks_uri"
  const methods = json["token_endpoint_auth_methods_supported"]
  const takesBasic = !Array.isArray(methods) || methods.includes("client_secret_basic") || !methods.includes("client_secret_post")
  return { issuer, authorizationEndpoint, tokenEndpoint, jwksUri, secretIn: takesBasic ? "basic" : "form" }
}
