/** The tool over the database's schema. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { at, type Json, listAt, textAt } from "#src/management/inner/Inner.ts"
import { make, type Tool } from "./Tool.ts"

const path = "/api/db/health"

const kindOf = (part: Json): string => `${textAt(part, "kind")}_${textAt(part, "problem")}`

/** Parts of one table with the same problem are one issue. `refused`: why the database did not take a repair, by part. */
const issuesOf = (drift: ReadonlyArray<Json>, refused: ReadonlyMap<string, string>): ReadonlyArray<Json> =>
  Array.from(Map.groupBy(drift, (part) => `${kindOf(part)} ${textAt(part, "table")}`).values(), (parts): Json => ({
    type: parts[0] === undefined ? "" : kindOf(parts[0]), table: parts[0] === undefined ? "" : textAt(parts[0], "table"), count: parts.length,
    description: parts.map((part) => {
      const name = textAt(part, "name")
      const reason = refused.get(`${textAt(part, "kind")} ${name}`)
      return `${name}${reason === undefined ? at(part, "repairable") === true ? "" : " (no repair: rows would change)" : ` (${reason})`}`
    }).join(", ")
  }))

export const databaseHealth: Tool = make({
  name: "gateway_db_health_check", brief: "Checks the database.", scopes: ["read:health", "write:resilience"], phase: 2, auditLevel: "full",
  description: "Compares the database's schema with that of this release. With autoRepair it makes what is missing, and indexes and triggers that differ; no row is touched, so no backup is made. A repair needs a caller with the scope admin.",
  sourceEndpoints: [path], args: Schema.Struct({ autoRepair: Schema.optionalKey(Schema.Boolean) }),
  run: ({ autoRepair = false }, inner) => Effect.map(autoRepair ? inner.send("POST", path) : inner.get(path), (found): Json => ({
    isHealthy: textAt(found, "status") === "healthy",
    issues: issuesOf(listAt(found, "drift"), new Map(listAt(found, "failed").map((one) => [textAt(one, "name"), textAt(one, "message")]))),
    repairedCount: listAt(found, "repaired").length, backupCreated: false
  }))
})
