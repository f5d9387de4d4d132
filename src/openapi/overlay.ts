/** What an operation of the client surface has beside its generated description: an example, headers, and errors in the words of the OpenAI API. */
import { isObject, type JsonObject, member } from "./json.ts"
import { ref } from "./operation.ts"

export interface Overlay {
  readonly body?: JsonObject
  readonly parameters?: ReadonlyArray<JsonObject>
  /** Of the request's generated body. */
  readonly asked?: JsonObject
  /** Of the generated success. */
  readonly example?: JsonObject
  /** Beside the generated success. */
  readonly responses: JsonObject
}

/** The named statuses and those that every call may answer. */
export const errorsOf = (failures: Readonly<Record<number, string>>) => (...statuses: ReadonlyArray<number>): JsonObject => Object.fromEntries([...statuses, 401, 403, 500, 503].map((status) => [
  String(status), { description: failures[status] ?? "", content: { "application/json": { schema: ref("ChatError") } } }
]))

const withExample = (holder: JsonObject, example: JsonObject | undefined): JsonObject => {
  const content = member(holder, "content")
  return example === undefined ? holder : { ...holder, content: { ...content, "application/json": { ...member(content, "application/json"), example } } }
}

/** Lays the overlay of `<method> <path>` over an operation; any other one stays as it is. */
export const over = (overlays: Readonly<Record<string, Overlay>>) => (method: string, path: string, operation: JsonObject): JsonObject => {
  const overlay = overlays[`${method} ${path}`]
  if (overlay === undefined) return operation
  const parameters = Array.isArray(operation["parameters"]) ? operation["parameters"] as ReadonlyArray<JsonObject> : []
  const success = Object.fromEntries(Object.entries(member(operation, "responses")).filter(([status]) => status.startsWith("2")).map(([status, response]) =>
    [status, isObject(response) ? withExample(response, overlay.example) : response]))
  const body = overlay.body ?? (overlay.asked === undefined ? undefined : withExample(member(operation, "requestBody"), overlay.asked))
  return {
    ...operation,
    parameters: [...parameters, ...overlay.parameters ?? []],
    ...(body === undefined ? {} : { requestBody: body }),
    responses: { ...success, ...overlay.responses }
  }
}
