/** Coding agents on the gateway's machine: found, pointed at the gateway, and listed for editors. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as AcpHttp from "./acpHttp.ts"
import * as Acting from "./acting.ts"
import { AcpGroup, CliToolsGroup } from "./api.ts"
import * as Http from "./http.ts"

export const cliTools = Feature.make({
  name: "cliTools",
  groups: [CliToolsGroup, AcpGroup],
  handlers: Layer.merge(Http.layer, AcpHttp.layer),
  acting: [Acting.application]
})
