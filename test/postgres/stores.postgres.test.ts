import { afterAll } from "vitest"
import { suites } from "#test/suites/stores.ts"
import { findServer, freshClient, stores, withServer } from "#test/support/postgres.ts"

const server = await findServer()

withServer(server, "record stores", (url) => suites("Postgres", () => stores(freshClient(url))))

afterAll(server.stop)
