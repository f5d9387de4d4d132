/** Batches: many requests in one file, run in the background. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import { BatchesGroup } from "./api.ts"
import * as Batches from "./Batches.ts"
import * as BatchRunner from "./run/BatchRunner.ts"
import * as CleanUp from "./cleanUp.ts"
import { degradation } from "./degradation.ts"
import * as Http from "./http.ts"
import * as LineCalls from "./run/LineCalls.ts"
import version20 from "./migrations/0020_batches.ts"
import version28 from "./migrations/0028_batchEnds.ts"
import * as PostgresBatchStore from "./PostgresBatchStore.ts"

/** How often one node looks for batches that others made; alone it hears of each at once. */
const pollMs = { several: 2_000, alone: 10_000 } as const

export const batches = Feature.make({
  name: "batches",
  groups: [BatchesGroup],
  handlers: Http.layer,
  stores: PostgresBatchStore.layer,
  migrations: { "20_batches": version20, "28_batchEnds": version28 },
  degradation,
  services: ({ batchConcurrency, batchDays, batchMaxLines, databaseUrl }) => Layer.merge(CleanUp.sweep(batchDays), Batches.layer).pipe(
    Layer.provideMerge(BatchRunner.layer({
      concurrency: batchConcurrency, mostLines: batchMaxLines, pollMs: databaseUrl === null ? pollMs.alone : pollMs.several
    })),
    Layer.provideMerge(LineCalls.layer)
  )
})
