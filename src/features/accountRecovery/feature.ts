/** Account recovery: connections whose upstream says that their account is banned. */
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { AccountRecoveryGroup } from "./api.ts"
import * as Http from "./http.ts"
import version68 from "./migrations/0068_bannedSignals.ts"

export const accountRecovery = Feature.make({
  name: "accountRecovery",
  groups: [AccountRecoveryGroup],
  handlers: Http.layer,
  migrations: { "68_bannedSignals": version68 },
  acting: [Acting.autoDisable]
})
