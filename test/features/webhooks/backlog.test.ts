/** What happened before a webhook was made is not told to it, whether a journal or a file brings it to the queue. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import { Events } from "#actors/webhook/Events.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import { Webhooks } from "#actors/webhook/ports/Webhooks.ts"
import { WebhookSender } from "#actors/webhook/ports/WebhookSender.ts"
import * as NodeWebhooks from "#actors/webhook/NodeWebhooks.ts"
import * as LocalPlacement from "#src/platform/cluster/LocalPlacement.ts"
import * as FiledEvents from "#src/features/webhooks/FiledEvents.ts"
import * as LedgerEvents from "#src/features/webhooks/LedgerEvents.ts"
import * as MemoryStores from "#test/support/memoryStores.ts"
import * as MemoryWebhooks from "#test/support/memoryWebhooks.ts"
import { ledgerRow } from "#test/suites/records.ts"

/** No provider nodes. */
const configuration = Layer.succeed(Configuration, {
  current: () => ({ nodeById: new Map() }) as unknown as Snapshot, commit: (write) => write, reload: Effect.void, onChange: () => () => {}
})

const iso = (ms: number) => new Date(ms).toISOString()
const made = Date.parse("2026-01-01T00:00:10.000Z")
const away = Effect.fail(new StoreError({ store: "WebhookQueue", operation: "append", reason: "unavailable", message: "away" }))

describe("a backlog from before a webhook was made", () => {
  it.live("is not told to it, by the file of a dead process or by the ledger; what came after is, once", () => Effect.gen(function*() {
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "gateway-backlog-"))),
      (dir) => Effect.sync(() => fs.rmSync(dir, { recursive: true, force: true }))
    )
    const files = FiledEvents.layer({ directory, processId: "node-a" })
    const tried = Latch.makeUnsafe(false)
    // A process whose store is away: it knows of no webhook yet, keeps everything in its file and ends.
    yield* Effect.scoped(Effect.gen(function*() {
      const none = Layer.succeed(Webhooks, {
        wants: () => true, append: () => Effect.andThen(tried.open, away), refresh: Effect.void, test: () => Effect.die("not asked"), replay: () => Effect.die("not asked")
      })
      const events = Context.get(yield* Layer.build(Layer.provide(files, none)), Events)
      for (const at of [made - 5_000, made - 1, made, made + 5_000]) events.publish({ type: "request.failed", at, data: { trace_id: `filed ${at - made}` } })
      yield* tried.await
    }))

    const memory = MemoryWebhooks.make()
    memory.records.set("w", {
      id: "w", url: Redacted.make("http://x.test"), events: ["*"], secret: Redacted.make("s"), enabled: true, description: null, kind: "custom", metadata: null,
      failureCount: 0, lastTriggeredAt: null, lastStatus: null, createdAt: iso(made), updatedAt: iso(made), enabledAt: iso(made)
    })
    const told: Array<string> = []
    const all = Latch.makeUnsafe(false)
    const expected = ["filed 0", "filed 5000", "row 0", "row 1"]
    const sender = Layer.succeed(WebhookSender, {
      send: (_webhook, { body }) => Effect.sync(() => {
        told.push((JSON.parse(body) as { data: { trace_id: string } }).data.trace_id)
        if (told.length === expected.length) all.openUnsafe()
        return { status: 200, error: null, blocked: false }
      })
    })
    const lanes = NodeWebhooks.layer({ owner: "me", pollMs: 60_000 }).pipe(Layer.provide(Layer.mergeAll(MemoryWebhooks.layerOf(memory), sender, LocalPlacement.layer)))
    const context = yield* Layer.build(Layer.mergeAll(files, LedgerEvents.layer.pipe(Layer.provide(Layer.merge(MemoryStores.layer, configuration)))).pipe(Layer.provide(lanes)))
    const rows = [-3_600_000, -1, 0, 1].map((after) => ledgerRow({ attemptId: `a${after}`, requestId: `row ${after}`, settledAt: made + after, final: true, outcome: "completed" }))
    // A replay tells the ledger's rows more than once.
    for (let time = 0; time < 2; time++) yield* Context.get(context, UsageStore).insert(rows)
    yield* all.await
    while (memory.jobs().length > 0) yield* Effect.yieldNow
    assert.deepStrictEqual(told.sort(), expected)
  }), 180_000)
})
