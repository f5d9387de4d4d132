/** An OAuth 2.0 authorization server on loopback: code + PKCE, device code, rotating refresh tokens, JWT bearer. Strict, so that it finds faults. */
import { createHash, generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { jwtVerify, UnsecuredJWT } from "jose"

export interface Device {
  state: "pending" | "approved" | "denied" | "expired"
  /** The next poll is told to slow down. */
  slowDown: boolean
}

export interface OAuthServer extends AsyncDisposable {
  readonly url: string
  readonly tokenUrl: string
  readonly redirectUri: string
  /** Forms of every token request, oldest first. */
  readonly forms: Array<Record<string, string>>
  /** The user consents: the redirect of the authorization page. Throws when the request is not the registered client's. */
  readonly consent: (authorizeUrl: string) => URL
  readonly device: Device
  /** Refresh tokens that are good now; each is good once. */
  readonly refreshTokens: Set<string>
  /** Answers of the next token requests instead of the right ones. */
  readonly next: Array<{ readonly status: number; readonly body: string; readonly headers?: Record<string, string> } | "reset">
  /** Holds token requests until it is called. */
  hold: () => () => void
  expiresIn: number | null
  /** Set to change the audience that an assertion must have; the issuer's clock (s). */
  clock: () => number
  readonly close: () => Promise<void>
}

export const CLIENT_ID = "client-of-the-operator"
export const CLIENT_SECRET = "canary-client-secret-value"

const keys = generateKeyPairSync("rsa", { modulusLength: 2048 })

/** A service-account document of this server's only account. */
export const serviceAccount = (tokenUri: string, more: Record<string, unknown> = {}): string => JSON.stringify({
  type: "service_account", project_id: "project-of-the-account", private_key_id: "key-1", client_email: "svc@project.example",
  private_key: keys.privateKey.export({ type: "pkcs8", format: "pem" }).toString(), token_uri: tokenUri, ...more
})

const read = async (request: IncomingMessage): Promise<string> => {
  let body = ""
  for await (const chunk of request) body += String(chunk)
  return body
}

const reply = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(typeof body === "string" ? body : JSON.stringify(body))
}

const refuse = (response: ServerResponse, error: string, description = "no"): void =>
  reply(response, error === "invalid_client" ? 401 : 400, { error, error_description: description })

export const start = async (redirectUri = "http://gateway.test/api/oauth/acme/callback"): Promise<OAuthServer> => {
  const codes = new Map<string, { readonly challenge: string; readonly redirectUri: string }>()
  const deviceCodes = new Set<string>()
  let gate: Promise<void> = Promise.resolve()
  let issued = 0

  const grant = (response: ServerResponse, refresh: boolean): void => {
    const serial = ++issued
    const body: Record<string, unknown> = { access_token: `canary-access-${serial}`, token_type: "Bearer", scope: "models" }
    if (self.expiresIn !== null) body["expires_in"] = self.expiresIn
    if (refresh) {
      const token = `canary-refresh-${serial}-${randomUUID()}`
      self.refreshTokens.add(token)
      body["refresh_token"] = token
      body["id_token"] = new UnsecuredJWT({ email: "user@acme.example", name: "A User" }).encode()
    }
    reply(response, 200, body)
  }

  const token = async (form: Record<string, string>, response: ServerResponse): Promise<void> => {
    if (form["grant_type"] === "urn:ietf:params:oauth:grant-type:jwt-bearer") {
      try {
        await jwtVerify(form["assertion"] ?? "", keys.publicKey as KeyObject, {
          algorithms: ["RS256"], issuer: "svc@project.example", audience: self.tokenUrl, currentDate: new Date(self.clock() * 1000), maxTokenAge: 3600
        })
      } catch (error) {
        return refuse(response, "invalid_grant", `Invalid JWT: ${String(error)} ${form["assertion"]}`)
      }
      return grant(response, false)
    }
    if (form["client_id"] !== CLIENT_ID || form["client_secret"] !== CLIENT_SECRET) return refuse(response, "invalid_client")
    switch (form["grant_type"]) {
      case "refresh_token":
        return self.refreshTokens.delete(form["refresh_token"] ?? "")
          ? grant(response, true)
          : refuse(response, "invalid_grant", `unknown token ${form["refresh_token"]}`)
      case "authorization_code": {
        const code = codes.get(form["code"] ?? "")
        codes.delete(form["code"] ?? "")
        const challenge = createHash("sha256").update(form["code_verifier"] ?? "").digest("base64url")
        if (code === undefined || code.challenge !== challenge) return refuse(response, "invalid_grant", "PKCE verification failed")
        return code.redirectUri === form["redirect_uri"] ? grant(response, true) : refuse(response, "invalid_grant", "redirect_uri mismatch")
      }
      case "urn:ietf:params:oauth:grant-type:device_code": {
        if (!deviceCodes.has(form["device_code"] ?? "")) return refuse(response, "invalid_grant")
        if (self.device.slowDown) {
          self.device.slowDown = false
          return refuse(response, "slow_down")
        }
        if (self.device.state === "pending") return refuse(response, "authorization_pending")
        if (self.device.state === "denied") return refuse(response, "access_denied")
        if (self.device.state === "expired") return refuse(response, "expired_token")
        deviceCodes.clear()
        return grant(response, true)
      }
      default:
        return refuse(response, "unsupported_grant_type")
    }
  }

  const server = createServer((request, response) => {
    void (async () => {
      const form = Object.fromEntries(new URLSearchParams(await read(request)))
      if (request.url === "/device") {
        if (form["client_id"] !== CLIENT_ID) return refuse(response, "invalid_client")
        const code = `canary-device-${randomUUID()}`
        deviceCodes.add(code)
        return reply(response, 200, {
          device_code: code, user_code: "ABCD-EFGH", verification_uri: "https://acme.example/device", expires_in: 600, interval: 5
        })
      }
      if (request.url !== "/token") return reply(response, 404, "{}")
      self.forms.push(form)
      await gate
      const scripted = self.next.shift()
      if (scripted === "reset") return void request.socket.destroy()
      if (scripted !== undefined) return reply(response, scripted.status, scripted.body, scripted.headers)
      await token(form, response)
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = (): Promise<void> => new Promise((resolve) => {
    server.closeAllConnections()
    server.close(() => resolve())
  })
  const self: OAuthServer = {
    url,
    tokenUrl: `${url}/token`,
    redirectUri,
    forms: [],
    consent: (authorizeUrl) => {
      const asked = new URL(authorizeUrl).searchParams
      if (asked.get("client_id") !== CLIENT_ID) throw new Error("unknown client")
      if (asked.get("redirect_uri") !== redirectUri) throw new Error(`redirect_uri ${asked.get("redirect_uri")} is not registered`)
      if (asked.get("response_type") !== "code" || asked.get("code_challenge_method") !== "S256") throw new Error("no PKCE")
      const code = `canary-code-${randomUUID()}`
      codes.set(code, { challenge: asked.get("code_challenge") ?? "", redirectUri })
      const back = new URL(redirectUri)
      back.searchParams.set("code", code)
      back.searchParams.set("state", asked.get("state") ?? "")
      return back
    },
    device: { state: "pending", slowDown: false },
    refreshTokens: new Set(),
    next: [],
    hold: () => {
      let release: () => void = () => undefined
      gate = new Promise((resolve) => { release = resolve })
      return () => release()
    },
    expiresIn: 3600,
    clock: () => 0,
    close,
    [Symbol.asyncDispose]: close
  }
  return self
}
