/** The configuration file: records that are declared in YAML, applied at the start and at SIGHUP, and exported again. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import { ConfigFileGroup } from "./api.ts"
import * as Http from "./http.ts"
import * as ReadConfigFile from "./ReadConfigFile.ts"
import * as Reloads from "./Reloads.ts"

export const configFile = Feature.make({
  name: "configFile",
  groups: [ConfigFileGroup],
  handlers: Layer.merge(Http.layer, Reloads.layer),
  services: ReadConfigFile.layer
})
