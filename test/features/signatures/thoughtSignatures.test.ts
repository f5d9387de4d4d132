import * as Effect from "effect/Effect"
import * as MemoryThoughtSignatures from "#src/features/signatures/MemoryThoughtSignatures.ts"
import { suite } from "#test/suites/ThoughtSignatures.suite.ts"

suite("memory", () => Effect.runPromise(MemoryThoughtSignatures.make))
