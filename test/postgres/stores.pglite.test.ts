import { afterAll } from "vitest"
import { suites } from "#test/suites/stores.ts"
import { pgliteClient, sharedStores } from "#test/support/postgres.ts"

const shared = sharedStores(pgliteClient)

suites("PGlite", () => shared.layer)

afterAll(shared.dispose)
