import { assert, describe, it } from "@effect/vitest"
import { fromDriver } from "#src/platform/postgres/sqlErrors.ts"

const tag = (code: string) => fromDriver(Object.assign(new Error("x"), { code })).reason._tag

describe("sqlErrors", () => {
  it("classes of SQLSTATE and of driver codes decide what may be retried", () => {
    const expected = {
      ConnectionError: ["08006", "53300", "57P01", "57P03", "25P03", "3D000", "58030", "ECONNREFUSED", "ECONNRESET", "EPIPE", "ENOTFOUND", "CONNECTION_CLOSED", "CONNECT_TIMEOUT", "DEPTH_ZERO_SELF_SIGNED_CERT"],
      AuthenticationError: ["28P01", "28000", "SASL_SIGNATURE_MISMATCH"],
      AuthorizationError: ["42501"],
      UniqueViolation: ["23505"],
      ConstraintError: ["23502", "23503", "23514"],
      StatementTimeoutError: ["57014"],
      LockTimeoutError: ["55P03"],
      DeadlockError: ["40P01"],
      SerializationError: ["40001"],
      SqlSyntaxError: ["42601", "42P01", "42703"],
      UnknownError: ["22012", "XX000", "P0001", "UNDEFINED_VALUE", ""]
    }
    const found = Object.fromEntries(Object.entries(expected).map(([name, codes]) => [name, codes.filter((code) => tag(code) === name)]))
    assert.deepStrictEqual(found, expected)
  })

  it("what quotes row values or parameters is dropped", () => {
    const error = Object.assign(new Error("null value in column"), {
      code: "23502", detail: "Failing row contains (canary).", where: "canary", parameters: ["canary"], query: "canary", table_name: "t", constraint_name: "c"
    })
    const failure = fromDriver(error)
    assert.notInclude(JSON.stringify(failure) + String(failure) + String(failure.stack), "canary")
  })

  it("anything thrown becomes an UnknownError", () => {
    for (const thrown of [undefined, null, "text", 7, new TypeError("bug")]) assert.strictEqual(fromDriver(thrown).reason._tag, "UnknownError")
  })
})
