/**
 * Every way an upstream refuses a request, for every client: an error in the client's own format keeps the vendor's status, type, code,
 * message and details; any other error is written in the client's format with the vendor's message as it stands.
 */
import Anthropic from "@anthropic-ai/sdk"
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { families, type Family, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"

const statuses = [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529] as const
type Status = (typeof statuses)[number]
type Json = Readonly<Record<string, unknown>>

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())

const credentialOf = (family: Family, face: FormatName) => `canary-${family.prefix(face)}-0123456789`

/** A message as the vendor words it; a refused credential is quoted whole and shortened. */
const messageOf = (family: Family, face: FormatName, status: Status): string =>
  status === 401 || status === 403
    ? `Incorrect API key provided: ${credentialOf(family, face)} (sk-proj-****************6789). You can find your key in the settings.`
    : status === 400 && family.name === "messages"
    ? "prompt is too long: 213462 tokens > 200000 maximum"
    : `The ${family.name} vendor says ${status}: naïve "words", 3 > 2.`

const masked = (message: string, family: Family, face: FormatName) =>
  message.replace(credentialOf(family, face), "[redacted]").replace("sk-proj-****************6789", "[redacted]")

const openAi: Readonly<Record<Status, readonly [type: string, code: string | null]>> = {
  400: ["invalid_request_error", "context_length_exceeded"], 401: ["invalid_request_error", "invalid_api_key"], 403: ["invalid_request_error", "unsupported_country_region_territory"],
  404: ["invalid_request_error", "model_not_found"], 408: ["timeout", null], 409: ["conflict_error", null], 413: ["invalid_request_error", null],
  422: ["invalid_request_error", null], 429: ["insufficient_quota", "insufficient_quota"], 500: ["server_error", null], 502: ["server_error", null],
  503: ["server_error", "server_overloaded"], 504: ["server_error", null], 529: ["server_error", null]
}
const anthropic: Readonly<Record<Status, string>> = {
  400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error", 408: "invalid_request_error",
  409: "invalid_request_error", 413: "request_too_large", 422: "invalid_request_error", 429: "rate_limit_error", 500: "api_error", 502: "api_error",
  503: "api_error", 504: "timeout_error", 529: "overloaded_error"
}
const google: Readonly<Record<Status, string>> = {
  400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 408: "DEADLINE_EXCEEDED", 409: "ABORTED",
  413: "INVALID_ARGUMENT", 422: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 502: "INTERNAL", 503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED", 529: "UNAVAILABLE"
}
const resetsAt = 4_102_444_800

/** What the vendor answers, with its details. */
const documentOf = (family: Family, status: Status, message: string): Json => {
  switch (family.name) {
    case "chat-completions":
      return { error: { message, type: openAi[status][0], param: status === 400 ? "messages" : null, code: openAi[status][1] } }
    case "responses":
      return status === 429
        ? { error: { type: "usage_limit_reached", message, plan_type: "plus", resets_at: resetsAt, resets_in_seconds: 3_600 } }
        : { error: { message, type: openAi[status][0], param: null, code: openAi[status][1] } }
    case "messages":
      return { type: "error", error: { type: anthropic[status], message }, request_id: `req_011C${status}` }
    case "generateContent":
      return {
        error: {
          code: status, message, status: google[status],
          details: status === 429
            ? [
              { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaMetric: "generate_requests", quotaId: "PerDayPerProject", quotaValue: "250" }] },
              { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "37.4s" }
            ]
            : status === 400
            ? [{ "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [{ field: "contents", description: "too many" }] }]
            : [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "SOME_REASON", domain: "googleapis.com", metadata: { service: "generativelanguage" } }]
        }
      }
    case "local-model-server":
      return { error: message }
  }
}

interface Asked {
  readonly path: (model: string) => string
  readonly body: (model: string) => Json
}

const turns = [{ role: "user", content: "Hello" }]
const faces: Readonly<Record<FormatName, Asked>> = {
  "chat-completions": { path: () => "/v1/chat/completions", body: (model) => ({ model, messages: turns }) },
  "completions": { path: () => "/v1/completions", body: (model) => ({ model, prompt: "Hello" }) },
  "messages": { path: () => "/v1/messages", body: (model) => ({ model, max_tokens: 64, messages: turns }) },
  "responses": { path: () => "/v1/responses", body: (model) => ({ model, input: "Hello" }) },
  "generateContent": { path: (model) => `/v1beta/models/${model}:generateContent`, body: () => ({ contents: [{ role: "user", parts: [{ text: "Hello" }] }] }) },
  "local-model-server": { path: () => "/v1/api/chat", body: (model) => ({ model, messages: turns, stream: false }) }
}

const commonFaces: ReadonlySet<FormatName> = new Set(["chat-completions", "completions", "responses"])
/** The client's format is the vendor's, or shares its error object. */
const isOwn = (face: FormatName, family: Family): boolean =>
  face === family.name || (commonFaces.has(face) && (family.name === "chat-completions" || family.name === "responses"))

const commonTypes = ["invalid_request_error", "authentication_error", "permission_error", "rate_limit_error", "server_error"]

const refuse = async (face: FormatName, family: Family, status: Status) => {
  const message = messageOf(family, face, status)
  const document = documentOf(family, status, message)
  const model = await matrix.model(family, face, `grid-${face}-${status}`, { status, body: document as never, headers: { "x-request-id": `vendor-${status}`, "openai-organization": "org-operator" } })
  const reply = await Http.send(matrix.url, { method: "POST", path: faces[face].path(model.id), headers: { authorization: `Bearer ${matrix.key}` }, body: faces[face].body(model.id) })
  return { reply, body: JSON.parse(reply.text) as Json, message: masked(message, family, face), document: JSON.parse(masked(JSON.stringify(document), family, face)) as Json }
}

/** What the official client of the face makes of the reply. */
const sdkError = (face: FormatName, reply: Http.Reply): Error | null => {
  const headers = new Headers(Object.entries(reply.headers))
  const body = JSON.parse(reply.text) as object
  if (commonFaces.has(face)) return OpenAI.APIError.generate(reply.status, body, undefined, headers)
  return face === "messages" ? Anthropic.APIError.generate(reply.status, body, undefined, headers) : null
}
const sdkClasses: Readonly<Record<number, string>> = {
  400: "BadRequestError", 401: "AuthenticationError", 403: "PermissionDeniedError", 404: "NotFoundError", 409: "ConflictError",
  422: "UnprocessableEntityError", 429: "RateLimitError"
}
/** The messages client knows more of them. */
const messagesClasses: Readonly<Record<number, string>> = {
  ...sdkClasses, 408: "RequestTimeoutError", 413: "ContentTooLargeError", 503: "ServiceUnavailableError", 504: "GatewayTimeoutError", 529: "OverloadedError"
}

for (const family of families) {
  describe.concurrent(`an error of ${family.name}`, () => {
    for (const face of Object.keys(faces) as ReadonlyArray<FormatName>) {
      it.each(statuses)(`%i reaches a client of ${face}`, async (status) => {
        const { body, document, message, reply } = await refuse(face, family, status)
        expect(reply.status).toBe(status)
        expect(reply.headers["x-request-id"]).toBe(`vendor-${status}`)
        expect(JSON.stringify(reply.headers)).not.toContain("org-operator")
        expect(reply.text).not.toMatch(/canary|0123456|6789/)
        const error = body["error"] as Json

        if (isOwn(face, family)) {
          // The gateway's own detail may stand behind the vendor's.
          const details = (document["error"] as { readonly details?: ReadonlyArray<unknown> }).details
          if (details === undefined) expect(body).toMatchObject(document)
          else expect(body).toMatchObject({ error: { ...document["error"] as Json, details: expect.arrayContaining([...details]) as unknown } })
        } else if (commonFaces.has(face)) {
          expect(error).toMatchObject({ message })
          expect(commonTypes).toContain(error["type"])
          expect(error["code"]).toMatch(/^[a-z_]+$/)
        } else if (face === "messages") {
          expect(body).toMatchObject({ type: "error", error: { type: anthropic[status], message } })
          expect(error["code"]).toMatch(/^[a-z_]+$/)
        } else if (face === "generateContent") {
          expect(error).toMatchObject({ code: status, message, status: google[status] })
          expect((error["details"] as ReadonlyArray<Json>)[0]?.["reason"]).toMatch(/^[a-z_]+$/)
        } else expect(body["error"]).toBe(message)

        // The names of one vendor's vocabulary mean nothing in another's.
        if (!isOwn(face, family)) {
          if (face !== "generateContent") expect(reply.text).not.toMatch(/[A-Z]{4,}_[A-Z]{4,}|UNAUTHENTICATED|NOT_FOUND|ABORTED|INTERNAL|UNAVAILABLE/)
          if (face !== "messages") expect(reply.text).not.toMatch(/overloaded_error|request_too_large|"api_error|not_found_error|timeout_error/)
        }

        const thrown = sdkError(face, reply)
        if (thrown !== null) {
          expect(thrown.constructor.name).toBe((face === "messages" ? messagesClasses : sdkClasses)[status] ?? (status >= 500 ? "InternalServerError" : "APIError"))
          expect(thrown.message).toContain(message.split("\"")[0])
        }
      })
    }
  })
}

describe("an error in a stream, after content", () => {
  /** The vendor's last frame, which quotes the credential. */
  const frameOf = (name: Family["name"], message: string): string => {
    switch (name) {
      case "chat-completions": return JSON.stringify({ error: { message, type: "tokens", param: null, code: "rate_limit_exceeded" } })
      case "messages": return JSON.stringify({ type: "error", error: { type: "overloaded_error", message } })
      case "responses": return JSON.stringify({ type: "error", code: "usage_limit_reached", message, param: null, plan_type: "plus", sequence_number: 9 })
      case "generateContent": return JSON.stringify({ error: { code: 503, message, status: "UNAVAILABLE", details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "3s" }] } })
      case "local-model-server": return JSON.stringify({ error: message })
    }
  }
  const streamed: ReadonlyArray<FormatName> = ["chat-completions", "messages", "responses", "generateContent", "local-model-server"]
  it.each(families.flatMap((one) => streamed.map((face) => [one.name, face] as const)))("of %s keeps its message for a client of %s, and its type and code for its own", async (name, face) => {
    const one = families.find((each) => each.name === name) as Family
    const said = `vendor broke (${credentialOf(one, face)})`
    const raw = frameOf(name, said)
    const model = await matrix.model(one, face, `in-stream-${face}`, { tokens: 8, malformed: [{ kind: "error", at: 5, raw }] })
    const { body, path } = faces[face]
    const reply = await Http.send(matrix.url, {
      method: "POST", path: face === "generateContent" ? `/v1beta/models/${model.id}:streamGenerateContent?alt=sse` : path(model.id),
      headers: { authorization: `Bearer ${matrix.key}` }, body: { ...body(model.id), ...(face === "generateContent" ? {} : { stream: true }) }
    })
    expect(reply.status).toBe(200)
    expect(reply.text).toContain("vendor broke ([redacted])")
    expect(reply.text).not.toMatch(/canary|0123456/)
    const own = isOwn(face, one)
    const words: Readonly<Record<Family["name"], RegExp>> = {
      "chat-completions": face === "responses" ? /"code":"rate_limit_exceeded"/ : /"type":"tokens","code":"rate_limit_exceeded"/,
      "messages": /"type":"overloaded_error"/, "responses": /"code":"usage_limit_reached".*"plan_type":"plus"/,
      "generateContent": /"status":"UNAVAILABLE".*"retryDelay":"3s"/, "local-model-server": /"error":"vendor/
    }
    if (own) expect(reply.text).toMatch(words[name])
    else expect(reply.text).not.toMatch(/"type":"tokens"|overloaded_error.*UNAVAILABLE|"plan_type"|"retryDelay":"3s"/)
  })
})

describe("details of an error", () => {
  const family = (name: Family["name"]): Family => families.find((one) => one.name === name) as Family

  it("when to come back is read from a RetryInfo and a usage limit, and told as Retry-After in every format", async () => {
    for (const face of Object.keys(faces) as ReadonlyArray<FormatName>) {
      expect([face, (await refuse(face, family("generateContent"), 429)).reply.headers["retry-after"]]).toEqual([face, "38"])
      expect([face, (await refuse(face, family("responses"), 429)).reply.headers["retry-after"]]).toEqual([face, "3600"])
    }
  })

  it("a refused credential is named beside the vendor's words, which say nothing of the gateway", async () => {
    const { body } = await refuse("chat-completions", family("chat-completions"), 401)
    expect(body["error"]).toMatchObject({ gateway: { code: "upstream_auth_error", message: expect.stringContaining("Provider chat refused the credential") as unknown } })
  })

  it("a context that is too small has the code of the common form, whoever says it", async () => {
    const { body } = await refuse("responses", family("messages"), 400)
    expect(body["error"]).toMatchObject({ message: "prompt is too long: 213462 tokens > 200000 maximum", code: "context_length_exceeded", type: "invalid_request_error" })
  })

  it("an error that a vendor wraps in a list, and the {message} and {detail} of small servers, are read in every family", async () => {
    for (const [name, document] of [["list", [{ error: { code: 400, message: "in a list", status: "INVALID_ARGUMENT" } }]], ["message", { message: "plain words" }], ["detail", { detail: "not this one" }]] as const) {
      for (const one of families) {
        const said = name === "list" ? "in a list" : name === "message" ? "plain words" : "not this one"
        const model = await matrix.model(one, "chat-completions", `loose-${name}`, { status: 400, body: document as never })
        const reply = await Http.send(matrix.url, { method: "POST", path: "/v1/chat/completions", headers: { authorization: `Bearer ${matrix.key}` }, body: faces["chat-completions"].body(model.id) })
        expect([one.name, name, (JSON.parse(reply.text) as { error: Json }).error]).toMatchObject([one.name, name, { message: said, type: "invalid_request_error" }])
      }
    }
  })
})
