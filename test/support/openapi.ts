/** `openapi.json` as its readers see it: bodies and answers that several operations share stand in place. */
import * as fs from "node:fs"
import * as path from "node:path"

export const openapiFile = path.join(import.meta.dirname, "../../openapi.json")
export const openapiText = fs.readFileSync(openapiFile, "utf8")

type Components = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** The document as a `Spec`, whose parts the caller names. */
export const openapi = <Spec>(): Spec => {
  const spec = JSON.parse(openapiText) as { readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>; readonly components: Components }
  const inPlace = (value: unknown): unknown => {
    const ref = (value as { readonly $ref?: string } | undefined)?.$ref
    if (ref === undefined) return value
    const [, , kind = "", name = ""] = ref.split("/")
    const found = spec.components[kind]?.[name]
    if (found === undefined) throw new Error(`openapi.json names ${ref}, which it does not have`)
    return found
  }
  const operationOf = (operation: { readonly requestBody?: unknown; readonly responses?: object }): object => ({
    ...operation,
    ...(operation.requestBody === undefined ? {} : { requestBody: inPlace(operation.requestBody) }),
    responses: Object.fromEntries(Object.entries(operation.responses ?? {}).map(([status, response]) => [status, inPlace(response)]))
  })
  return {
    ...spec,
    paths: Object.fromEntries(Object.entries(spec.paths).map(([at, methods]) =>
      [at, Object.fromEntries(Object.entries(methods).map(([method, operation]) => [method, operationOf(operation)]))]))
  } as Spec
}
