/** Calls as CSV and as lines of JSON. */
import { assert, describe, it } from "@effect/vitest"
import * as CallLog from "#src/features/usage/callLog.ts"
import * as Exported from "#src/features/usage/logs/exported.ts"
import { ledgerRow } from "#test/suites/records.ts"

const names = { accountOf: () => "Account, \"main\"", providerOf: (id: string) => id }
const call = (change: Parameters<typeof ledgerRow>[0] = {}) => CallLog.ofRow(ledgerRow(change), names)
const cells = (line: string): ReadonlyArray<string> => [...line.trimEnd().matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, one]) => one ?? "").slice(0, Exported.head("csv").split(",").length)

describe("an export", () => {
  it("has one line for each call, and as CSV a head with as many cells", () => {
    const head = Exported.head("csv").trimEnd().split(",")
    assert.strictEqual(Exported.head("jsonl"), "")
    assert.deepStrictEqual(JSON.parse(Exported.line("jsonl", call())), JSON.parse(JSON.stringify(call())))
    assert.isTrue(Exported.line("jsonl", call()).endsWith("}\n"))
    assert.lengthOf(cells(Exported.line("csv", call({ connectionId: "c" }))), head.length)
  })

  it("quotes what CSV needs quoted, and lets no text become a formula", () => {
    const line = Exported.line("csv", call({ connectionId: "c", requestedModel: "=HYPERLINK(\"http://x\")", errorCode: "two\nlines", apiKeyName: "@sum" }))
    assert.include(line, "\"Account, \"\"main\"\"\"")
    assert.include(line, "\"'=HYPERLINK(\"\"http://x\"\")\"")
    assert.include(line, "\"two\nlines\"")
    assert.include(line, ",'@sum,")
    assert.isTrue(line.endsWith("\r\n"))
  })
})
