/** What differs between two schemas, and the statements that mend it. */
import { assert, describe, it } from "@effect/vitest"
import { driftOf, type Part, repairOf } from "#src/features/database/schema/compare.ts"

const part = (kind: Part["kind"], table: string, name: string, definition: string): Part => ({ kind, table, name, definition, isValid: true })

const expected: ReadonlyArray<Part> = [
  part("table", "t", "t", ""), part("column", "t", "id", "text NOT NULL"), part("column", "t", "n", "bigint DEFAULT 0 NOT NULL"),
  part("constraint", "t", "t_pkey", "PRIMARY KEY (id)"), part("constraint", "t", "t_other", "FOREIGN KEY (n) REFERENCES o(n)"),
  part("index", "t", "t_n", "CREATE INDEX t_n ON t USING btree (n)"), part("trigger", "t", "t_note", "CREATE TRIGGER t_note AFTER INSERT ON t"),
  part("function", "", "note", "CREATE OR REPLACE FUNCTION note()")
]
const without = (...names: ReadonlyArray<string>) => expected.filter(({ name }) => !names.includes(name))
const changed = (name: string, change: Partial<Part>) => expected.map((one) => one.name === name ? { ...one, ...change } : one)
const shown = (found: ReadonlyArray<Part>) => driftOf(expected, found).map(({ kind, name, problem, repairable }) => `${kind} ${name} ${problem} ${repairable}`)
const statements = (found: ReadonlyArray<Part>) => driftOf(expected, found).flatMap((drift) => repairOf(expected, drift))

describe("drift", () => {
  it("is none for what is the same, and for what others added", () => {
    assert.deepStrictEqual(shown([...expected, part("index", "t", "own", "CREATE INDEX own ON t USING btree (id)"), part("table", "mine", "mine", "")]), [])
  })

  it("names what is missing, changed or invalid, and what can be mended", () => {
    assert.deepStrictEqual(shown(without("n", "t_n", "note")), ["function note missing true", "column n missing true", "index t_n missing true"])
    assert.deepStrictEqual(shown(without("id")), ["column id missing false"])
    assert.deepStrictEqual(shown(changed("n", { definition: "text" })), ["column n changed false"])
    assert.deepStrictEqual(shown(changed("t_pkey", { definition: "PRIMARY KEY (n)" })), ["constraint t_pkey changed false"])
    assert.deepStrictEqual(shown(changed("t_n", { isValid: false })), ["index t_n invalid true"])
  })

  it("of a whole table is one, and is mended in an order that works", () => {
    const found = expected.filter(({ table }) => table !== "t")
    assert.deepStrictEqual(shown(found), ["table t missing true"])
    assert.deepStrictEqual(statements(found), [
      "CREATE TABLE \"t\" ()", "ALTER TABLE \"t\" ADD COLUMN \"id\" text NOT NULL", "ALTER TABLE \"t\" ADD COLUMN \"n\" bigint DEFAULT 0 NOT NULL",
      "ALTER TABLE \"t\" ADD CONSTRAINT \"t_pkey\" PRIMARY KEY (id)", "ALTER TABLE \"t\" ADD CONSTRAINT \"t_other\" FOREIGN KEY (n) REFERENCES o(n)",
      "CREATE INDEX t_n ON t USING btree (n)", "CREATE TRIGGER t_note AFTER INSERT ON t"
    ])
  })

  it("is mended by one change for each part", () => {
    assert.deepStrictEqual(statements(changed("t_n", { isValid: false })), ["REINDEX INDEX \"t_n\""])
    assert.deepStrictEqual(statements(changed("t_n", { definition: "other" })), ["DROP INDEX \"t_n\"", "CREATE INDEX t_n ON t USING btree (n)"])
    assert.deepStrictEqual(statements(changed("t_note", { definition: "other" })), ["DROP TRIGGER \"t_note\" ON \"t\"", "CREATE TRIGGER t_note AFTER INSERT ON t"])
    assert.deepStrictEqual(statements(changed("note", { definition: "other" })), ["CREATE OR REPLACE FUNCTION note()"])
  })
})
