import { assert, describe, it } from "@effect/vitest"
import * as AttemptTable from "#src/platform/accounting/AttemptTable.ts"

/** A generator with a seed, so that a failure comes again. */
const random = (seed: number) => () => {
  seed = Math.imul(seed ^ (seed >>> 15), 0x2c1b3c6d) + 0x9e3779b9 | 0
  return (seed >>> 0) / 2 ** 32
}

const member = (id: string, hash = AttemptTable.hashOf(id)) => ({ id, hash })

describe("AttemptTable", () => {
  for (const [name, hash] of [["as they come", undefined], ["all alike", 7], ["at the end of the table", -1]] as const) {
    it(`holds what a Map would, whatever comes and goes, with hashes ${name}`, () => {
      const table = new AttemptTable.AttemptTable<{ readonly id: string; readonly hash: number }>()
      const model = new Map<string, { readonly id: string; readonly hash: number }>()
      const next = random(11)
      const find = hash === undefined ? (id: string) => table.get(id) : (id: string) => [...table].find((some) => some.id === id)
      for (let i = 0; i < 8000; i++) {
        const id = `m3k2j1x9-${Math.floor(next() * (i < 4000 ? 900 : 60)).toString(36)}`
        const known = model.get(id)
        if (next() < 0.5) {
          const fresh = member(id, hash)
          assert.strictEqual(table.add(fresh), known === undefined)
          if (known === undefined) model.set(id, fresh)
        } else if (known === undefined) assert.isFalse(table.remove(member(id, hash)))
        else {
          assert.isTrue(table.remove(known))
          model.delete(id)
        }
        assert.strictEqual(find(id), model.get(id))
        assert.strictEqual(table.size, model.size)
        if (i % 500 === 0) {
          assert.sameMembers([...table], [...model.values()])
          for (const some of model.values()) assert.strictEqual(find(some.id), some)
        }
      }
    })
  }

  it("does not remove a namesake", () => {
    const table = new AttemptTable.AttemptTable()
    table.add(member("a"))
    assert.isFalse(table.remove(member("a")))
    assert.strictEqual(table.size, 1)
  })
})
