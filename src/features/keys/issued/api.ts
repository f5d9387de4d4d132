import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, bearer, bearerWrites, grants } from "#schemas/api/Access.ts"
import { integer, isoTime, listOf, text } from "#schemas/api/fields.ts"

const opt = Schema.optionalKey
const requests = integer(1, 1_000_000_000)

export const NewRegisteredKey = Schema.Struct({
  name: text(1, 120),
  provider: opt(text(0, 80)),
  accountId: opt(text(0, 120)),
  idempotencyKey: opt(text(1, 256)),
  expiresAt: opt(isoTime),
  /** Requests in any 24 hours. */
  dailyBudget: opt(requests),
  /** Requests in any hour. */
  hourlyBudget: opt(requests)
})
export interface NewRegisteredKey extends Schema.Schema.Type<typeof NewRegisteredKey> {}

/** An issued key without its value. */
export const RegisteredKeyView = Schema.Struct({
  keyId: Schema.String,
  keyPrefix: Schema.String,
  name: Schema.String,
  provider: Schema.String,
  accountId: Schema.String,
  /** The API key that issued it; null for an operator. */
  issuerId: Schema.NullOr(Schema.String),
  dailyBudget: Schema.NullOr(Schema.Int),
  hourlyBudget: Schema.NullOr(Schema.Int),
  expiresAt: Schema.NullOr(Schema.String),
  createdAt: Schema.String,
  revokedAt: Schema.NullOr(Schema.String),
  isActive: Schema.Boolean
}).annotate({ identifier: "RegisteredKey" })
export interface RegisteredKeyView extends Schema.Schema.Type<typeof RegisteredKeyView> {}

/** A key that was just issued. */
const IssuedKey = Schema.Struct({
  /** The raw value, shown this once. */
  key: Schema.String,
  keyId: Schema.String,
  keyPrefix: Schema.String,
  name: Schema.String,
  provider: Schema.String,
  accountId: Schema.String,
  expiresAt: Schema.NullOr(Schema.String),
  createdAt: Schema.String,
  warning: Schema.String
})
export interface IssuedKey extends Schema.Schema.Type<typeof IssuedKey> {}

/** Whether a key could be issued. */
const IssueVerdict = Schema.Struct({
  allowed: Schema.Boolean,
  errorCode: opt(Schema.String),
  reason: opt(Schema.String),
  provider: Schema.String,
  accountId: Schema.String,
  checkedAt: Schema.String
})
export interface IssueVerdict extends Schema.Schema.Type<typeof IssueVerdict> {}

const Revoked = Schema.Struct({ revoked: Schema.Literal(true), keyId: Schema.String })
const id = { id: Schema.String }
const path = "/api/v1/registered-keys"

const count = integer(0, 1_000_000_000)
const IssueLimitsInput = Schema.Struct({ maxActiveKeys: opt(count), dailyIssueLimit: opt(count), hourlyIssueLimit: opt(count) })
export interface IssueLimitsInput extends Schema.Schema.Type<typeof IssueLimitsInput> {}
/** 0 = no limit. */
const IssueLimitsView = Schema.Struct({ maxActiveKeys: Schema.Int, dailyIssueLimit: Schema.Int, hourlyIssueLimit: Schema.Int })

const limitsOf = <const N extends string>(name: N, at: `/${string}`, what: string) => [
  HttpApiEndpoint.get(`${name}Limits`, at, { params: id, success: IssueLimitsView })
    .annotate(Access, bearer).annotate(OpenApi.Summary, `How many keys may be issued for ${what}; 0 = no limit`),
  HttpApiEndpoint.put(`set${name}Limits`, at, { params: id, payload: IssueLimitsInput, success: IssueLimitsView })
    .annotate(Access, grants).annotate(OpenApi.Summary, `Set how many keys may be issued for ${what}; operators and keys with scope manage`)
] as const

export const IssueReport = Schema.Struct({
  title: text(1, 300),
  provider: opt(text(0, 80)),
  accountId: opt(text(0, 120)),
  requestId: opt(text(0, 128)),
  errorCode: opt(text(0, 120)),
  details: opt(text(0, 8_000)),
  labels: opt(listOf(text(1, 50), 20))
})
export interface IssueReport extends Schema.Schema.Type<typeof IssueReport> {}

/** Keys that are issued over the client surface. */
export const RegisteredKeysGroup = HttpApiGroup.make("registeredKeys").add(
  HttpApiEndpoint.get("list", path, {
    query: { provider: opt(text(0, 80)), accountId: opt(text(0, 120)) },
    success: Schema.Struct({ keys: Schema.Array(RegisteredKeyView), total: Schema.Int })
  }).annotate(Access, bearer).annotate(OpenApi.Summary, "Issued keys, newest first; a key sees those that it issued"),
  HttpApiEndpoint.post("issue", path, {
    payload: NewRegisteredKey,
    success: IssuedKey.pipe(HttpApiSchema.status(201))
  }).annotate(Access, bearerWrites).annotate(OpenApi.Summary, "Issue a key; its raw value is shown once"),
  HttpApiEndpoint.get("get", `${path}/:id`, { params: id, success: RegisteredKeyView })
    .annotate(Access, bearer).annotate(OpenApi.Summary, "One issued key without its value"),
  HttpApiEndpoint.delete("remove", `${path}/:id`, { params: id, success: Revoked })
    .annotate(Access, bearerWrites).annotate(OpenApi.Summary, "Revoke an issued key; it is dead at once"),
  HttpApiEndpoint.post("revoke", `${path}/:id/revoke`, { params: id, success: Revoked })
    .annotate(Access, bearerWrites).annotate(OpenApi.Summary, "As DELETE"),
  ...limitsOf("provider", "/v1/providers/:id/limits", "a provider"),
  ...limitsOf("account", "/v1/accounts/:id/limits", "an account"),
  HttpApiEndpoint.get("check", "/v1/quotas/check", {
    query: { provider: opt(text(0, 80)), accountId: opt(text(0, 120)) },
    success: IssueVerdict
  }).annotate(Access, bearer).annotate(OpenApi.Summary, "Whether a key could be issued now"),
  HttpApiEndpoint.post("report", "/v1/issues/report", {
    payload: IssueReport,
    success: [
      /** An issue was filed. */
      Schema.Struct({ url: Schema.String, number: Schema.Int }),
      /** No tracker is configured. */
      Schema.Struct({ logged: Schema.Literal(true), configured: Schema.Literal(false) }).pipe(HttpApiSchema.status(202)),
      /** The tracker failed. */
      Schema.Struct({ logged: Schema.Literal(true), configured: Schema.Literal(true), error: Schema.String }).pipe(HttpApiSchema.status(207))
    ]
  }).annotate(Access, bearerWrites).annotate(OpenApi.Summary, "Report a quota or issuance failure: kept in the audit log, and filed as an issue where a repository is configured")
).annotateMerge(OpenApi.annotations({ title: "Registered keys", description: "Keys that clients issue for others, within limits." }))
