/** Files of clients and batches. */
import * as Path from "node:path"
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import { FilesGroup } from "./api.ts"
import { degradation } from "./degradation.ts"
import * as Files from "./Files.ts"
import * as Http from "./http.ts"
import version19 from "./migrations/0019_files.ts"
import * as LocalFileStore from "./stores/LocalFileStore.ts"
import * as PostgresFileRecords from "./stores/PostgresFileRecords.ts"
import * as S3FileStore from "./stores/S3FileStore.ts"
import * as OwnIds from "./ports/OwnIds.ts"
import * as Sweep from "./sweep.ts"

const MIB = 1024 * 1024

const store = (settings: Values) => {
  const { filesS3AccessKeyId: accessKeyId, filesS3Bucket: bucket, filesS3Prefix: prefix, filesS3Region: region, filesS3SecretAccessKey: secretAccessKey } = settings
  if (bucket === null || accessKeyId === null || secretAccessKey === null) {
    return LocalFileStore.layer({ directory: settings.filesDir ?? Path.join(settings.dataDir, "files"), reserveBytes: settings.filesReserveMb * MIB })
  }
  const endpoint = (settings.filesS3Endpoint ?? `https://s3.${region}.amazonaws.com`).replace(/\/+$/, "")
  return S3FileStore.layer({ bucket, endpoint, prefix, region, accessKeyId, secretAccessKey })
}

export const files = Feature.make({
  name: "files",
  groups: [FilesGroup],
  handlers: Http.layer,
  stores: PostgresFileRecords.layer,
  migrations: { "19_files": version19 },
  degradation,
  // Batches stand on them, too.
  shared: (settings) => Layer.merge(store(settings), OwnIds.layer),
  services: (settings) => Layer.merge(Files.layer, Sweep.layer(settings.filesS3Bucket !== null))
})
