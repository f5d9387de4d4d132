/** The caller that a route sees while management is open (requireLogin off), and what stays closed then. Pure. */
import { describe, expect, it } from "vitest"
import * as Access from "#schemas/api/Access.ts"
import type { Caller } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as Rights from "#src/management/authentication/rights.ts"
import { accessToken } from "#test/suites/records.ts"

const anonymous: Caller = { kind: "anonymous" }
const session: Caller = { kind: "session", sessionId: "s" }
const reader: Caller = { kind: "token", token: accessToken({ scope: "read" }) }
const situation = (caller: Caller, more: Partial<Rights.Situation> = {}): Rights.Situation =>
  ({ caller, refusedBearer: false, loopback: false, bypassesLocality: false, requireLogin: false, hasPassword: true, ...more })
const admitted = (rule: Access.AccessRule | null, given: Rights.Situation): string | number => {
  const answer = Rights.admit(rule, given)
  return answer instanceof Refusal.Refusal ? answer.status : answer.kind
}

describe("while management is open", () => {
  it("a caller without a credential is open, and any other one stays what it is", () => {
    expect([anonymous, session, reader].map((caller) => admitted(Access.writes, situation(caller)))).toEqual(["open", "session", "token"])
    expect(admitted(Access.writes, situation(anonymous, { requireLogin: true }))).toBe(401)
  })

  it("what gives credentials or ends the gateway still asks for one", () => {
    for (const rule of [Access.grants, Access.mints, Access.signedIn, Access.alwaysProtected, Access.governs]) {
      expect([admitted(rule, situation(anonymous)), admitted(rule, situation(reader)), admitted(rule, situation(session))]).toEqual([401, rule.sessionOnly ? 401 : 403, "session"])
    }
  })

  it("a route without a rule serves no caller", () => {
    for (const caller of [anonymous, session, reader]) expect(admitted(null, situation(caller, { loopback: true, hasPassword: false }))).toBe(403)
  })

  it("the first password is set from this machine, while there is none", () => {
    const first = (more: Partial<Rights.Situation>) => admitted(Access.setsUp, situation(anonymous, more))
    expect([first({ loopback: true, hasPassword: false }), first({ loopback: true }), first({ hasPassword: false })]).toEqual(["anonymous", 401, 401])
  })
})
