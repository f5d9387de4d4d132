import * as MemoryIdempotencyStore from "#src/features/cache/idempotency/MemoryIdempotencyStore.ts"
import * as IdempotencyStore from "#test/suites/IdempotencyStore.suite.ts"

IdempotencyStore.suite("memory", MemoryIdempotencyStore.layer)
