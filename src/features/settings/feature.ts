/** General settings. */
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { SettingsGroup } from "./api.ts"
import * as Http from "./http.ts"

export const settings = Feature.make({
  name: "settings",
  groups: [SettingsGroup],
  handlers: Http.layer,
  acting: [Acting.settings]
})
