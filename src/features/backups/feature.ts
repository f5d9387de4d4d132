/** Backups of the records, their restore, and archives for other gateways. */
import * as Feature from "#src/management/Feature.ts"
import { BackupsGroup } from "./api.ts"
import * as Backups from "./Backups.ts"
import { degradation } from "./degradation.ts"
import * as Http from "./http.ts"
import * as PostgresBackupRecords from "./PostgresBackupRecords.ts"

export const backups = Feature.make({
  name: "backups",
  groups: [BackupsGroup],
  handlers: Http.layer,
  stores: PostgresBackupRecords.layer,
  degradation,
  services: ({ dataDir }) => Backups.layer({ dataDir })
})
