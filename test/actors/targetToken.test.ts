import { describe, expect, it } from "vitest"
import { CredentialFailure } from "#actors/request/ports/Credentials.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as TargetToken from "#actors/request/steps/targetToken.ts"

const failure = (reason: CredentialFailure["reason"], retry: CredentialFailure["retry"]) =>
  new CredentialFailure({ reason, source: "operator", retry, code: null, message: "canary words of the vendor" })
const target = { providerAlias: "vx" } as Target

describe("a target's token", () => {
  it("is a Bearer header behind the prebuilt ones", () => {
    expect(TargetToken.withToken(["a", "1"], "tok")).toEqual(["a", "1", "authorization", "Bearer tok"])
  })

  it("that cannot be had is the operator's 401 or a passing 502, without the vendor's words", () => {
    const refused = TargetToken.errorOf(failure("refused", "never"), target)
    expect(refused).toMatchObject({ status: 401, code: "upstream_auth_error" })
    const passing = TargetToken.errorOf(failure("unreachable", "later"), target)
    expect(passing).toMatchObject({ status: 502, code: "upstream_connect_error", retryAfterSeconds: 1 })
    expect(refused.message + passing.message).not.toContain("canary")
  })
})
