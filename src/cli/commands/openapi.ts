/** `gateway openapi`: the description of the HTTP surface as a file. */
import * as path from "node:path"
import { document, textOf } from "#src/openapi/document.ts"
import { root, writeOrCheck } from "./generated.ts"

export const content = (): string => textOf(document())

export const openapi = (options: { readonly check: boolean; readonly output: string | undefined }) =>
  writeOrCheck({ file: options.output ?? path.join(root, "openapi.json"), content: content(), command: "gateway openapi" }, options.check)
