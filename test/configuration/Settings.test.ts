import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import * as Settings from "#src/platform/configuration/Settings.ts"

const problems = (environment: Readonly<Record<string, string>>): ReadonlyArray<string> => {
  const decoded = Settings.decode(environment)
  return Result.isSuccess(decoded) ? [] : decoded.failure.problems
}

describe("what a variable takes", () => {
  it("a boolean flag: true, 1, yes, on, false, 0, no and off in any case; empty is unset", () => {
    for (const value of ["true", "TRUE", "True", "1", "yes", "Yes", "on", "ON", "false", "False", "0", "no", "NO", "off", "Off", ""]) {
      expect([value, ...problems({ REQUIRE_API_KEY: value })]).toEqual([value])
    }
    for (const value of ["maybe", "tru", " true", "2", "enabled", "constructor"]) {
      expect(problems({ REQUIRE_API_KEY: value })).toEqual([`REQUIRE_API_KEY='${value}' is not one of true, 1, yes, on, false, 0, no, off`])
    }
  })

  it("a number: digits, never blanks alone, which would be 0", () => {
    for (const [name, expected] of [["PORT", "a port number from 0 to 65535"], ["FETCH_TIMEOUT_MS", "a whole number of ms from 0 to "], ["REQUEST_TIMEOUT_MS", "a whole number of ms"], ["GATEWAY_USAGE_RETENTION_DAYS", "a whole number of days from 0 to "]] as const) {
      for (const value of ["", "0", "7000"]) expect([name, ...problems({ [name]: value })]).toEqual([name])
      for (const value of [" ", "\t", "seven", "1.5", "-1"]) expect(problems({ [name]: value })).toEqual([expect.stringContaining(`${name}='${value}' is not ${expected}`)])
    }
    expect(problems({ PORT: "65536" })).toHaveLength(1)
  })

  it("an enum flag: one of its values", () => {
    expect(problems({ INJECTION_GUARD_MODE: "block" })).toEqual([])
    expect(problems({ INJECTION_GUARD_MODE: "loud", TOOL_POLICY_MODE: "off" })).toHaveLength(2)
  })

  it("INITIAL_PASSWORD: 8 to 200 characters", () => {
    for (const length of [8, 200]) expect(problems({ INITIAL_PASSWORD: "p".repeat(length) })).toEqual([])
    for (const length of [1, 7, 201]) expect(problems({ INITIAL_PASSWORD: "p".repeat(length) })).toEqual(["INITIAL_PASSWORD is not a password of 8 to 200 characters"])
  })

  it("GATEWAY_FILES_S3_BUCKET: a bucket's name, with both keys", () => {
    const keys = { GATEWAY_FILES_S3_ACCESS_KEY_ID: "id", GATEWAY_FILES_S3_SECRET_ACCESS_KEY: "secret" }
    expect(problems({ GATEWAY_FILES_S3_BUCKET: "my.files-1", ...keys })).toEqual([])
    expect(problems(keys)).toEqual([])
    expect(problems({ GATEWAY_FILES_S3_BUCKET: "my-files", GATEWAY_FILES_S3_ACCESS_KEY_ID: "id" })).toEqual(["GATEWAY_FILES_S3_BUCKET needs GATEWAY_FILES_S3_ACCESS_KEY_ID and GATEWAY_FILES_S3_SECRET_ACCESS_KEY"])
    expect(problems({ GATEWAY_FILES_S3_BUCKET: "My Files", ...keys })).toEqual(["GATEWAY_FILES_S3_BUCKET is not the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens"])
    expect(problems({ GATEWAY_FILES_S3_ENDPOINT: "minio:9000" })).toHaveLength(1)
  })

  it("JWT_SECRET: as many bytes as the hash that it keys", () => {
    for (const value of ["s".repeat(32), "ü".repeat(16)]) expect(problems({ JWT_SECRET: value })).toEqual([])
    for (const value of ["s", "s".repeat(31)]) {
      expect(problems({ JWT_SECRET: value })).toEqual(["JWT_SECRET is not a secret of at least 32 bytes, such as the output of: openssl rand -hex 32"])
    }
  })

  it("keys of the environment: what a client can send", () => {
    for (const name of ["GATEWAY_API_KEY", "ROUTER_API_KEY"]) {
      for (const value of ["", "k", "sk-a_key/with+all=signs"]) expect(problems({ [name]: value })).toEqual([])
      for (const value of [" ", "a key", "key ", "k\u200bey", "schl\u00fcssel"]) {
        expect(problems({ [name]: value })).toEqual([`${name} is not a key of visible ASCII characters without spaces, which clients can send in a header`])
      }
    }
  })

  it("lists: each entry is of its kind, and the wrong one is named", () => {
    expect(problems({ GATEWAY_ALLOWED_HOSTS: " gateway.example.com, *.corp.example,10.0.0.7 ,::1,", GATEWAY_TRUSTED_PROXIES: "127.0.0.1, 10.0.0.0/8,fd00::/8" })).toEqual([])
    expect(problems({ GATEWAY_ALLOWED_HOSTS: "good.example,bad.example:8080" })).toEqual(["GATEWAY_ALLOWED_HOSTS='bad.example:8080' is not a host name or IP address without a port, or *.name"])
    expect(problems({ GATEWAY_TRUSTED_PROXIES: "10.0.0.0/40" })).toEqual(["GATEWAY_TRUSTED_PROXIES='10.0.0.0/40' is not an IP address or CIDR range"])
  })

  it("the URL of a server: its own scheme, and every form its driver reads", () => {
    const good = {
      DATABASE_URL: ["postgres://me:secret@db:5432/gateway", "postgresql://db/gateway?sslmode=require", "postgres://a:5432,b:5433/gateway",
        "postgres://me:a,b@db/gateway", "postgres://%2Fvar%2Frun%2Fpostgresql/gateway", "postgres:///gateway"],
      REDIS_URL: ["redis://127.0.0.1", "rediss://:secret@cache:6380/2", "REDIS://cache"],
      OTEL_EXPORTER_OTLP_ENDPOINT: ["http://127.0.0.1:4318", "https://collector.example/otlp"]
    }
    const bad = {
      DATABASE_URL: ["mysql://db", "db:5432/gateway", "garbage", "postgres:gateway", "postgres://db:port/gateway"],
      REDIS_URL: ["http://cache", "cache:6379", "garbage", "redis://cache:port"],
      OTEL_EXPORTER_OTLP_ENDPOINT: ["nonsense", "localhost:4318", "grpc://collector:4317", "http://"]
    }
    for (const [name, values] of Object.entries(good)) for (const value of values) expect([value, ...problems({ [name]: value })]).toEqual([value])
    for (const [name, values] of Object.entries(bad)) {
      for (const value of values) {
        const [problem = "", ...more] = problems({ [name]: value })
        expect([value, problem.startsWith(`${name} is not `), problem.includes(value), more]).toEqual([value, true, false, []])
      }
    }
  })
})
