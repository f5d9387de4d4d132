/** The dashboard: the operator's page, served by the gateway itself. */
import * as Feature from "#src/management/Feature.ts"
import * as StoredFiles from "./StoredFiles.ts"

export const dashboard = Feature.make({ name: "dashboard", services: StoredFiles.layerOf })
