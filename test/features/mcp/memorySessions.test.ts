/** Sessions of MCP clients in the memory of a node that is alone: bounded in characters, whatever clients send. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as MemoryMcpSessions from "#src/features/mcp/stores/MemoryMcpSessions.ts"

const MEBI = 1_048_576
const session = (id: string, opening: string | null = "{}") => ({ id, owner: "key:a", opening })
/** The same text takes no memory again. */
const long = "x".repeat(MEBI)

describe("sessions in memory", () => {
  it.effect("keep 128 Mi characters of all: the session that was used least lately goes, and its place is free again", () => Effect.gen(function*() {
    const sessions = yield* MemoryMcpSessions.make
    const ids = Array.from({ length: 16 }, (_, i) => `s${i}`)
    for (const id of ids) {
      yield* sessions.put(session(id, null))
      for (let i = 0; i < 8; i++) yield* sessions.append(id, "s", long)
    }
    assert.strictEqual((yield* sessions.find("s0"))?.id, "s0")
    yield* sessions.put(session("more", "{}"))
    assert.isNull(yield* sessions.find("s1"))
    for (const id of ["s0", "s2", "more"]) assert.isNotNull(yield* sessions.find(id), id)
    yield* sessions.remove("s2")
    yield* sessions.put(session("another", long))
    assert.isNotNull(yield* sessions.find("s3"))
    // Whatever came and went, all that is left counts once.
    for (const id of [...ids, "more", "another"]) yield* sessions.remove(id)
    for (let i = 0; i < 128; i++) yield* sessions.put(session(`l${i}`, long))
    assert.isNotNull(yield* sessions.find("l0"))
  }))
})
