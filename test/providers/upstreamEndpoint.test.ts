import { describe, expect, it } from "vitest"
import * as Redacted from "effect/Redacted"
import type { Connection } from "#schemas/records/Connection.ts"
import type { Provider } from "#schemas/Provider.ts"
import * as UpstreamEndpoint from "#src/providers/upstreamEndpoint.ts"
import { builtin } from "#src/providers/Registry.ts"
import { connection, node } from "#test/suites/records.ts"

const row = (id: string): Provider => builtin.byId.get(id) as Provider
const at = (id: string, fields: Partial<Connection>, model = "m", path = row(id).chatPath ?? ""): UpstreamEndpoint.UpstreamEndpoint => {
  const found = UpstreamEndpoint.ofProvider(row(id), connection({ provider: id, ...fields }), path, model, null)
  if ("_tag" in found) throw new Error(found.message)
  return found
}
const header = (endpoint: UpstreamEndpoint.UpstreamEndpoint, name: string): ReadonlyArray<string> =>
  endpoint.headers.flatMap((value, i) => i % 2 === 1 && endpoint.headers[i - 1] === name ? [value] : [])
const url = (endpoint: UpstreamEndpoint.UpstreamEndpoint) => endpoint.origin + endpoint.path

const document = JSON.stringify({ type: "service_account", project_id: "from-account", client_email: "a@b", private_key: "canary-private-key" })
const account: Partial<Connection> = { apiKey: Redacted.make(document) }
const token: Partial<Connection> = { authType: "oauth", apiKey: null, accessToken: Redacted.make("tok") }
const signedIn: Partial<Connection> = { ...token, refreshToken: Redacted.make("ref") }

describe("cloud variants", () => {
  it("Azure: resource in the host; the dated API has the deployment in the path and the version in the query", () => {
    const azure = { apiKey: Redacted.make("k"), providerSpecificData: { resource: "mine" } }
    expect(url(at("azure-openai", azure))).toBe("https://mine.openai.azure.com/openai/v1/chat/completions")
    expect(header(at("azure-openai", azure), "api-key")).toEqual(["k"])
    expect(url(at("azure-openai-deployments", azure, "gpt 4"))).toBe("https://mine.openai.azure.com/openai/deployments/gpt%204/chat/completions?api-version=2024-10-21")
    const dated = { ...azure, providerSpecificData: { resource: "mine", apiVersion: "2025-01-01-preview" } }
    expect(url(at("azure-openai-deployments", dated))).toContain("?api-version=2025-01-01-preview")
    const entra = at("azure-openai", { ...token, providerSpecificData: { resource: "mine" } })
    expect([header(entra, "authorization"), header(entra, "api-key")]).toEqual([["Bearer tok"], []])
  })

  it("Vertex: project of the connection before the account's, region with a default, and the host of region global", () => {
    expect(url(at("vertex", account, "gemini-x"))).toBe(
      "https://us-central1-aiplatform.googleapis.com/v1/projects/from-account/locations/us-central1/publishers/google/models/gemini-x:generateContent")
    expect(url(at("vertex", { ...account, providerSpecificData: { project: "p", region: "global" } }))).toContain(
      "https://aiplatform.googleapis.com/v1/projects/p/locations/global/")
    expect(url(at("vertex-anthropic", { ...account, providerSpecificData: { region: "europe-west1" } }, "claude@1", row("vertex-anthropic").streamPath))).toBe(
      "https://europe-west1-aiplatform.googleapis.com/v1/projects/from-account/locations/europe-west1/publishers/anthropic/models/claude%401:streamRawPredict")
    expect(row("vertex-anthropic").body).toEqual({ add: { anthropic_version: "vertex-2023-10-16" }, drop: ["model"] })
    expect(UpstreamEndpoint.ofProvider(row("vertex"), connection(token), "/x", "m", null)).toMatchObject({ _tag: "EndpointMissing" })
  })

  it("no value of a connection can move the request to another host", () => {
    for (const region of ["evil.example/", "evil.example#", "evil.example?", "x@evil.example", "evil.example\\", "a:1@b"]) {
      const found = UpstreamEndpoint.ofProvider(row("vertex"), connection({ ...account, providerSpecificData: { project: "p", region } }), "/x", "m", null)
      if (!("_tag" in found)) expect(new URL(found.origin).hostname, region).toMatch(/-aiplatform\.googleapis\.com$/)
    }
  })

  it("Bedrock: keys of the compatible endpoints", () => {
    expect(url(at("bedrock", {}))).toBe("https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1/chat/completions")
    const anthropic = at("bedrock-anthropic", { providerSpecificData: { region: "eu-west-1" } })
    expect(url(anthropic)).toBe("https://bedrock-mantle.eu-west-1.api.aws/anthropic/v1/messages")
    expect(header(anthropic, "anthropic-version")).toEqual(["2023-06-01"])
  })
})

describe("whose secret becomes a header", () => {
  it("an API key as its provider wants it, and nothing is asked before a call", () => {
    const endpoint = at("anthropic", { apiKey: Redacted.make("sk") })
    expect([endpoint.tokenFrom, header(endpoint, "x-api-key"), header(endpoint, "authorization")]).toEqual([null, ["sk"], []])
    expect(header(endpoint, "anthropic-beta")).toEqual([])
  })

  it("a minted token as Bearer with the headers that tokens need", () => {
    const endpoint = at("anthropic", token)
    expect([endpoint.tokenFrom, header(endpoint, "x-api-key"), header(endpoint, "authorization")]).toEqual([null, [], ["Bearer tok"]])
    expect(header(endpoint, "anthropic-beta")).toEqual(["oauth-2025-04-20"])
  })

  it("a service account and a renewable sign-in come from the Credentials port: the document is in no header", () => {
    const cloud = at("vertex", { id: "c-9", ...account })
    expect(cloud.tokenFrom).toBe("c-9")
    expect(cloud.headers.join()).not.toContain("canary")
    const github = at("github-models", { id: "c-8", ...signedIn })
    expect([github.tokenFrom, header(github, "authorization")]).toEqual(["c-8", []])
  })

  it("a refresh token without a sign-in to use it is no reason to ask: the access token is sent", () => {
    expect(at("anthropic", signedIn).tokenFrom).toBeNull()
    expect(header(at("anthropic", signedIn), "authorization")).toEqual(["Bearer tok"])
  })

  it("a node takes a service account, too; a broken document is still never sent", () => {
    const found = UpstreamEndpoint.ofNode(node(), connection({ id: "c-7", apiKey: Redacted.make("{ canary, broken") }), "/x")
    expect(found).toMatchObject({ tokenFrom: "c-7" })
    expect(JSON.stringify(found)).not.toContain("canary")
  })
})

describe("rows with a sign-in", () => {
  it("have flows over https, variables that are set by nobody else, and take sign-ins", () => {
    const rows = builtin.all.filter((one) => one.oauth !== undefined)
    expect(rows.length).toBeGreaterThanOrEqual(6)
    for (const { authKinds, env, id, oauth } of rows) {
      expect(authKinds, id).toContain("oauth")
      for (const one of [oauth?.authorizeUrl, oauth?.deviceUrl, oauth?.tokenUrl]) if (one !== undefined) expect(one, id).toMatch(/^https:\/\//)
      expect(oauth?.authorizeUrl ?? oauth?.deviceUrl, id).toBeDefined()
      expect(env, id).not.toContain(oauth?.clientId)
    }
  })
})
