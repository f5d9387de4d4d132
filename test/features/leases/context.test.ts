/** How an owner and a generation are read, and that an owner is never shown. */
import { assert, describe, it } from "@effect/vitest"
import { PublicError } from "#schemas/errors.ts"
import * as LeaseContext from "#src/inference/lane/leaseContext.ts"
import { connectionView } from "#src/features/leases/connectionView.ts"
import * as Redact from "#src/platform/telemetry/redact.ts"
import { hashOf, newOwner } from "./support.ts"
import { connection } from "#test/suites/records.ts"
import type { Snapshot } from "#actors/ports/Configuration.ts"

const head = (headers: Readonly<Record<string, string>>) => ({ header: (name: string) => headers[name] })
const codeOf = (value: unknown): unknown => value instanceof PublicError ? value.code : value

describe("the context of a lease", () => {
  it("is the SHA-256 of the owner and a safe positive generation", () => {
    const owner = newOwner()
    const given = (generation: string) => LeaseContext.contextOf(head({ "x-gateway-lease-owner": owner, "x-gateway-lease-generation": generation }))
    assert.deepStrictEqual(given("7"), { owner: hashOf(owner), generation: 7 })
    assert.deepStrictEqual(given("9007199254740991"), { owner: hashOf(owner), generation: Number.MAX_SAFE_INTEGER })
    for (const wrong of ["0", "-1", "1.0", "1e3", " 1", "0x1", "9007199254740992", "99999999999999999", "one"]) {
      assert.strictEqual(codeOf(given(wrong)), "LEASE_CONTEXT_INVALID", wrong)
    }
  })

  it("has no owner of another form", () => {
    const owner = newOwner()
    for (const wrong of [owner.slice(0, -1), `${owner}A`, owner.toUpperCase().replace("VLO", "xlo"), `vlo_${"+".repeat(43)}`, `${owner}, ${owner}`, `${owner}\n`]) {
      assert.strictEqual(codeOf(LeaseContext.ownerOf(head({ "x-gateway-lease-owner": wrong }))), "LEASE_CONTEXT_INVALID", wrong)
    }
  })
})

describe("an owner", () => {
  it("is taken out of every text and header that is told to the outside", () => {
    const owner = newOwner()
    assert.notInclude(Redact.text(`refused for ${owner} at once`), owner.slice(4))
    assert.notInclude(JSON.stringify(Redact.value({ "X-Gateway-Lease-Owner": owner, list: ["x-gateway-lease-owner", owner], inner: { text: owner } })), owner.slice(4))
  })
})

describe("what status shows", () => {
  const shown = (fields: Parameters<typeof connection>[0]) => {
    const one = connection({ id: "3f0c2b1e-3d4a-4f5b-8c6d-7e8f90a1b2c3", provider: "openai", email: null, displayName: null, ...fields })
    const snapshot = { connectionById: new Map([[one.id, one]]), nodeById: new Map([["node-77", { id: "node-77", prefix: "lab" }]]) } as unknown as Snapshot
    return connectionView(one.id, snapshot)
  }

  it("is a configured name, trimmed, and the provider's label", () => {
    assert.deepStrictEqual(shown({ name: "  Team A " }), { displayName: "Team A", provider: "openai" })
    assert.deepStrictEqual(shown({ name: "Team A", provider: "node-77" }), { displayName: "Team A", provider: "lab" })
  })

  it("is never an e-mail, the account's identity or a generated id", () => {
    for (const fields of [
      { name: " " }, { name: "a@b.c" }, { name: "Jane Doe", displayName: "Jane Doe" }, { name: "jane", email: "jane" },
      { name: "3f0c2b1e-3d4a-4f5b-8c6d-7e8f90a1b2c3" }, { name: "connection 3f0c2b1e-3d4a-4f5b-8c6d-7e8f90a1b2c3" }, { name: "node-77 main", provider: "node-77" }
    ]) assert.strictEqual(shown(fields)?.displayName, null, JSON.stringify(fields))
  })
})
