/** An OpenID Connect issuer on loopback: discovery, authorization code with PKCE, tokens, rotating keys. Strict, so that it finds faults. */
import { createHash, randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT, UnsecuredJWT } from "jose"

export const CLIENT_ID = "gateway:of the operator"
export const CLIENT_SECRET = "canary-client-secret/+ =value"

export interface SigningKey {
  readonly kid: string
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly publicJwk: JWK
}

export const makeKey = async (alg = "RS256"): Promise<SigningKey> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid: randomUUID(), alg, privateKey, publicJwk: await exportJWK(publicKey) }
}

/** How the next identity tokens are made; what is absent is made rightly. */
export interface Forgery {
  /** Over the right claims; undefined takes one away. */
  readonly claims?: Readonly<Record<string, unknown>>
  readonly key?: SigningKey
  readonly alg?: "none" | "HS256"
  readonly withoutKid?: boolean
}

export interface OidcProvider extends AsyncDisposable {
  readonly issuer: string
  /** The person who is signed in at the issuer's page. */
  subject: string
  /** Keys that are published. */
  published: ReadonlyArray<SigningKey>
  /** The key that signs. */
  signing: SigningKey
  forgery: Forgery
  /** Over the description of itself. */
  description: Readonly<Record<string, unknown>>
  /** The bodies of all token requests, and their Authorization headers. */
  readonly tokenRequests: Array<{ readonly form: Readonly<Record<string, string>>; readonly authorization: string | null }>
  /** Paths that were asked, oldest first. */
  readonly asked: Array<string>
  /** Answers of these paths instead of the right ones. */
  readonly instead: Map<string, { readonly status: number; readonly body: string; readonly headers?: Readonly<Record<string, string>> }>
  /** The person consents: where the issuer's page sends the browser. Throws when the request is not the registered client's. */
  readonly consent: (authorizeUrl: string) => URL
  /** Publishes a new key and signs with it; the former one is gone. */
  readonly rotate: () => Promise<void>
  readonly close: () => Promise<void>
}

interface Code {
  readonly challenge: string
  readonly redirectUri: string
  readonly nonce: string
  readonly subject: string
}

const read = async (request: IncomingMessage): Promise<string> => {
  let body = ""
  for await (const chunk of request) body += String(chunk)
  return body
}

const reply = (response: ServerResponse, status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(typeof body === "string" ? body : JSON.stringify(body))
}

/** `redirectUri`: the one that is registered. */
export const start = async (redirectUri: () => string): Promise<OidcProvider> => {
  const codes = new Map<string, Code>()

  const idToken = async (code: Code): Promise<string> => {
    const { alg, claims, key = self.signing, withoutKid } = self.forgery
    const now = Math.floor(Date.now() / 1000)
    const right: JWTPayload = { iss: self.issuer, sub: code.subject, aud: CLIENT_ID, nonce: code.nonce, iat: now, exp: now + 300 }
    const payload = Object.fromEntries(Object.entries({ ...right, ...claims }).filter(([, value]) => value !== undefined)) as JWTPayload
    if (alg === "none") return new UnsecuredJWT(payload).encode()
    // The classical forgery: the published key as the secret of an HMAC.
    if (alg === "HS256") return await new SignJWT(payload).setProtectedHeader({ alg, kid: key.kid }).sign(new TextEncoder().encode(JSON.stringify(key.publicJwk).padEnd(32)))
    return await new SignJWT(payload).setProtectedHeader({ alg: key.alg, ...withoutKid === true ? {} : { kid: key.kid } }).sign(key.privateKey)
  }

  const basic = `Basic ${Buffer.from([CLIENT_ID, CLIENT_SECRET].map((part) => new URLSearchParams({ "": part }).toString().slice(1)).join(":")).toString("base64")}`

  const token = async (form: Readonly<Record<string, string>>, authorization: string | null, response: ServerResponse): Promise<void> => {
    const inForm = form["client_id"] === CLIENT_ID && form["client_secret"] === CLIENT_SECRET
    if (authorization === null ? !inForm : authorization !== basic) return reply(response, 401, { error: "invalid_client", error_description: `not ${form["client_secret"] ?? authorization}` })
    const code = codes.get(form["code"] ?? "")
    codes.delete(form["code"] ?? "")
    const challenge = createHash("sha256").update(form["code_verifier"] ?? "").digest("base64url")
    if (form["grant_type"] !== "authorization_code" || code === undefined || code.challenge !== challenge || code.redirectUri !== form["redirect_uri"]) {
      return reply(response, 400, { error: "invalid_grant", error_description: `the code ${form["code"]} is not good` })
    }
    reply(response, 200, { access_token: "canary-access-token", token_type: "Bearer", id_token: await idToken(code) })
  }

  const server = createServer((request, response) => {
    void (async () => {
      const body = await read(request)
      const path = request.url ?? ""
      self.asked.push(path)
      const scripted = self.instead.get(path)
      if (path === "/main/token") self.tokenRequests.push({ form: Object.fromEntries(new URLSearchParams(body)), authorization: request.headers.authorization ?? null })
      if (scripted !== undefined) return reply(response, scripted.status, scripted.body, scripted.headers)
      switch (path) {
        case "/main/.well-known/openid-configuration":
          return reply(response, 200, {
            issuer: self.issuer, authorization_endpoint: `${self.issuer}/authorize`, token_endpoint: `${self.issuer}/token`, jwks_uri: `${self.issuer}/keys`, ...self.description
          })
        case "/main/keys":
          return reply(response, 200, { keys: self.published.map(({ alg, kid, publicJwk }) => ({ ...publicJwk, alg, use: "sig", ...self.forgery.withoutKid === true ? {} : { kid } })) })
        case "/main/token":
          return await token(self.tokenRequests.at(-1)?.form ?? {}, request.headers.authorization ?? null, response)
        default:
          return reply(response, 404, {})
      }
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/main`
  const signing = await makeKey()
  const close = (): Promise<void> => new Promise((resolve) => {
    server.closeAllConnections()
    server.close(() => resolve())
  })
  const self: OidcProvider = {
    issuer, subject: "person-1", published: [signing], signing, forgery: {}, description: {}, tokenRequests: [], asked: [], instead: new Map(),
    consent: (authorizeUrl) => {
      const url = new URL(authorizeUrl)
      const asked = url.searchParams
      if (`${url.origin}${url.pathname}` !== `${issuer}/authorize`) throw new Error(`no page at ${url.href}`)
      if (asked.get("client_id") !== CLIENT_ID) throw new Error("unknown client")
      if (asked.get("redirect_uri") !== redirectUri()) throw new Error(`redirect_uri ${asked.get("redirect_uri")} is not registered`)
      if (asked.get("response_type") !== "code" || asked.get("code_challenge_method") !== "S256") throw new Error("no PKCE")
      if (!(asked.get("scope") ?? "").split(" ").includes("openid")) throw new Error("no OpenID Connect")
      const [challenge = "", nonce = "", state = ""] = ["code_challenge", "nonce", "state"].map((name) => asked.get(name) ?? "")
      if ([challenge, nonce, state].some((value) => value.length < 43)) throw new Error("challenge, nonce or state is too short")
      const code = `canary-code-${randomUUID()}`
      codes.set(code, { challenge, nonce, redirectUri: redirectUri(), subject: self.subject })
      const back = new URL(redirectUri())
      back.searchParams.set("code", code)
      back.searchParams.set("state", state)
      return back
    },
    rotate: async () => {
      self.signing = await makeKey()
      self.published = [self.signing]
    },
    close,
    [Symbol.asyncDispose]: close
  }
  return self
}
