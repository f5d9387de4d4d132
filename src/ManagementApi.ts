/** The management API: every group of every feature, and the description served at /openapi.json. */
import * as OpenApi from "effect/http-api/OpenApi"
import * as RouteTable from "#schemas/api/RouteTable.ts"
import { describeSecurity } from "#schemas/api/security.ts"
import { version } from "#schemas/version.ts"
import * as Feature from "#src/management/Feature.ts"
import * as Surface from "#src/management/Surface.ts"
import { features } from "./features.ts"

const [first, ...others] = Feature.parts(features, "groups").flat()

export class ManagementApi extends Surface.make(first!, ...others)
  .annotateMerge(OpenApi.annotations({
    title: "Gateway management API",
    version,
    description: "Administration of the gateway: connections, keys, settings, flags, usage and health. "
      + "Error bodies are {error:{message, type, code, details?}, requestId}; every reply carries x-request-id and X-Gateway-Version.",
    transform: (spec) => describeSecurity(spec, managementRoutes())
  }))
{}

/** Every route of the management API with its access rule. */
export const managementRoutes = (): ReadonlyArray<RouteTable.RouteRule> => RouteTable.fromApi(ManagementApi)
