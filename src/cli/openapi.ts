/** `gateway openapi`: the description of the management API as a file. */
import * as path from "node:path"
import * as OpenApi from "effect/http-api/OpenApi"
import { ManagementApi } from "#schemas/api/Api.ts"
import { root, writeOrCheck } from "./generated.ts"

export const content = (): string => `${JSON.stringify(OpenApi.fromApi(ManagementApi), null, 2)}\n`

export const openapi = (options: { readonly check: boolean; readonly output: string | undefined }) =>
  writeOrCheck({ file: options.output ?? path.join(root, "openapi.json"), content: content(), command: "gateway openapi" }, options.check)
