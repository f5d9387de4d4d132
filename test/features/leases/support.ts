/** Clients of leases: sessions with an owner of their own, over HTTP. */
import * as crypto from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { LeaseRecords } from "#actors/lease/LeaseRecords.ts"
import type { InProcess } from "#test/support/gateway.ts"
import type { Lab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"

export const newOwner = (): string => `vlo_${crypto.randomBytes(32).toString("base64url")}`
export const hashOf = (owner: string): string => crypto.hash("sha256", owner, "hex")

export interface Lease {
  readonly state: string
  readonly generation: number
  readonly acquiredAt: string
  readonly renewedAt: string
  readonly expiresAt: string
}

/** A client with an owner and a key. */
export class Session {
  readonly owner: string
  readonly key: string
  private readonly url: () => string
  constructor(gateway: Pick<InProcess, "url">, key: string, owner = newOwner()) {
    this.url = () => gateway.url
    this.key = key
    this.owner = owner
  }

  ask(body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Http.Reply> {
    return Http.send(this.url(), {
      method: "POST", path: "/api/v1/session-leases", body,
      headers: { authorization: `Bearer ${this.key}`, "x-gateway-lease-owner": this.owner, ...headers }
    })
  }

  async acquire(model: string): Promise<Lease> {
    // A shared store that did not answer in time on a busy machine is asked again, as any client would.
    const reply = await eventually(() => this.ask({ action: "acquire", model }), ({ status }) => status !== 503, "the lease store")
    if (reply.status !== 200) throw new Error(`acquire answered ${reply.status}: ${reply.text}`)
    return JSON.parse(reply.text) as Lease
  }

  status(generation: number): Promise<Http.Reply> {
    return this.ask({ action: "status", generation })
  }

  headers(generation: number): Readonly<Record<string, string>> {
    return { authorization: `Bearer ${this.key}`, "x-gateway-lease-owner": this.owner, "x-gateway-lease-generation": String(generation) }
  }

  chat(lab: Lab, model: string, generation: number): Promise<Http.Reply> {
    return lab.chat({ model }, this.headers(generation))
  }
}

export const codeOf = (reply: Http.Reply): string => String((JSON.parse(reply.text) as { error: { code: unknown } }).error.code)

/** A key that may lease these connections. */
export const managedKey = async (gateway: Pick<InProcess, "operator">, name: string, allowedConnections: ReadonlyArray<string>) => {
  const reply = await gateway.operator.call<{ id: string; key: string }>("POST", "/api/keys", { name, scopes: ["lease:exclusive"], allowedConnections })
  return reply
}

/** A credential as the simulator writes it down. */
export const seen = (credential: string): string => `…${credential.slice(-4)}`

/** What left the gateway towards a model, by the credential that it was sent with. */
export const credentialsOf = async (lab: Lab, model: string): Promise<ReadonlyArray<string>> => {
  const entries = await lab.sim.entries()
  return entries.filter((entry) => entry.model === model).map((entry) => String(entry.headers["authorization"] ?? "").replace("Bearer ", ""))
}

/** Makes provider nodes with connections of their own, each with a key that may lease them; `name`: how their prefixes begin. */
export const poolsOf = (on: () => Lab, name: string) => {
  let pools = 0
  return async (size: number) => {
    const prefix = `${name}${++pools}`
    const given = Array.from({ length: size }, (_, i) => `credential_${prefix}_${i}`)
    const connections = await on().pool(prefix, given)
    const key = await managedKey(on().gateway, prefix, connections)
    return {
      prefix, model: `${prefix}/tokens-2`, credentials: given.map(seen), connections, key,
      session: (owner?: string) => new Session(on().gateway, key.key, owner)
    }
  }
}

/** The records of changes of an owner's leases. */
export const changesOf = (lab: Lab, owner: string) =>
  Effect.runPromise(Context.get(lab.gateway.services(), LeaseRecords).changes({ owner: hashOf(owner), limit: 100 }))
