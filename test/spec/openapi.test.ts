/** The description of the HTTP surface: complete, typed, and accepted by a public linter. */
import { createConfig, lintFromString } from "@redocly/openapi-core"
import { describe, expect, it } from "vitest"
import { managementRoutes } from "#src/ManagementApi.ts"
import { inferenceRoutes } from "#src/inferenceRoutes.ts"
import * as Inference from "#src/openapi/inference.ts"
import { isObject, type JsonObject, rewrite } from "#src/openapi/json.ts"
import { openapi, openapiFile, openapiText as text } from "#test/support/openapi.ts"

interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  readonly parameters?: ReadonlyArray<{ readonly name: string; readonly in: string; readonly schema: JsonObject }>
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly example?: unknown }>> }>>
}

const spec = openapi<{ readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>; readonly servers: ReadonlyArray<unknown> }>()
const operations = Object.entries(spec.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ at: `${method.toUpperCase()} ${path}`, operation })))

/**
 * Three rules of the linter do not fit what clients ask for: the editors' root ends in a slash, `{model}:{method}` holds a colon, and a
 * handshake succeeds with 101.
 */
const rules = { "operation-2xx-response": "off", "no-path-trailing-slash": "off", "no-ambiguous-paths": "off" } as const

describe("openapi.json", () => {
  it("passes the recommended rules of the Redocly linter, examples included", async () => {
    const config = await createConfig({ extends: ["recommended"], rules })
    const problems = await lintFromString({ source: text, absoluteRef: openapiFile, config })
    expect(problems.map((problem) => `${problem.ruleId}: ${problem.message} ${problem.location[0]?.pointer ?? ""}`)).toEqual([])
  })

  it("has an operation for every route of both surfaces, and no other", () => {
    const ofManagement = managementRoutes().map((route) => `${route.method} ${route.path.replaceAll(/:(\w+)/g, "{$1}")}`)
    const ofInference = inferenceRoutes.map((route) => `${route.method} ${Inference.pathOf(route.path)}`)
    expect(operations.map(({ at }) => at).sort()).toEqual([...ofManagement, ...ofInference].sort())
  })

  it("says what each operation does, for which callers, with an example of each JSON body", () => {
    const poor = operations.filter(({ operation: { description, requestBody, responses, summary } }) => {
      const bodies = [requestBody?.content, ...Object.entries(responses).filter(([status]) => status.startsWith("2")).map(([, response]) => response.content)]
      return summary === undefined || description === undefined || description === summary || description.length < 12
        || bodies.some((content) => content?.["application/json"] !== undefined && content["application/json"].example === undefined)
    })
    expect(poor.map(({ at }) => at)).toEqual([])
  })

  it("names errors where they can happen: 404 with an id in the path, 413 and 415 with a body", () => {
    for (const { at, operation } of operations.filter(({ at }) => at.includes(" /api/") && !at.includes("/api/v1/") && !/ \/api\/(?:tags|version|show)$/.test(at))) {
      const has = (status: number) => operation.responses[status] !== undefined
      const inPath = operation.parameters?.some((parameter) => parameter.in === "path") === true
      const hasBody = operation.requestBody !== undefined
      expect([at, has(404) || !inPath, has(413), has(415), has(405)]).toEqual([at, true, hasBody, hasBody, false])
    }
  })

  it("gives numbers of a query their type, and lists one way of paging", () => {
    const query = operations.flatMap(({ operation }) => operation.parameters?.filter((parameter) => parameter.in === "query") ?? [])
    const numeric = new Set(["limit", "offset", "days", "maxRows", "minSamples", "staleMs", "windowHours", "windowMs", "trendHours"])
    for (const { name, schema } of query) if (numeric.has(name)) expect([name, schema["type"]]).toEqual([name, name === "windowHours" ? "number" : "integer"])
  })

  it("names each large object that stands in several places", () => {
    const objects: Array<string> = []
    rewrite(JSON.parse(text) as JsonObject, (object) => {
      if (object["type"] === "object" && isObject(object["properties"])) objects.push(JSON.stringify(object))
      return object
    })
    const large = objects.filter((object) => object.length > 500)
    expect(large.length).toBeGreaterThan(100)
    expect(large.filter((object, index) => large.indexOf(object) !== index)).toEqual([])
  })

  it("is below 1 MB and names a server", () => {
    expect(Buffer.byteLength(text)).toBeLessThan(1_000_000)
    expect(spec.servers).toHaveLength(1)
  })
})
