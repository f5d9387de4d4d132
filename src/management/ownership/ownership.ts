/** Records that the configuration file declares are changed there only. */
import * as Effect from "effect/Effect"
import type { Snapshot } from "#actors/ports/Configuration.ts"
import { type Caller, ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { isRemote, keyOf, type Owner, type RecordKind } from "#schemas/FileOwned.ts"

type Owned = Pick<Snapshot, "fileOwned">

export const ownerOf = ({ fileOwned }: Owned, kind: RecordKind, id: string): Owner => fileOwned.has(keyOf(kind, id)) ? "file" : "database"

const isFile = (caller: Caller): boolean => caller.kind === "local" && caller.file !== undefined

/** 409 `owned_by_file` for a record of the configuration file, unless the file itself is being applied. */
export const refuseOwned = ({ fileOwned }: Owned, kind: RecordKind, id: string): Effect.Effect<void, Refusal.Refusal, ManagementCall> =>
  Effect.flatMap(ManagementCall, ({ caller }) => {
    const owned = fileOwned.get(keyOf(kind, id))
    if (owned === undefined || isFile(caller)) return Effect.void
    return Effect.fail(Refusal.conflict(
      `The ${kind} '${owned.name}' is declared in ${owned.file}. Change it there, then ${isRemote(owned) ? "synchronise this gateway (POST /api/sync/cloud)" : "send the gateway SIGHUP or start it again"}.`,
      { code: "owned_by_file" }
    ))
  })
