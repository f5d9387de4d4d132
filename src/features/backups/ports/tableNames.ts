/** The tables of the gateway's records; other tables of their database are not its own. */
import { tables } from "#src/features/backups/tables.ts"

export const tableNames: ReadonlyArray<string> = Object.keys(tables).sort()
