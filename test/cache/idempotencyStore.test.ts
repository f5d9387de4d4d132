import * as MemoryIdempotencyStore from "#src/cache/MemoryIdempotencyStore.ts"
import * as IdempotencyStore from "#test/suites/IdempotencyStore.suite.ts"

IdempotencyStore.suite("memory", MemoryIdempotencyStore.layer)
