/** Which models serve requests whose budget is used up: those that are free by the price that is charged. */
import { describe, expect, it } from "vitest"
import { builtin } from "#src/providers/Registry.ts"
import { freeModelsOf } from "#src/routing/freeModel.ts"

const chats = builtin.all.flatMap(({ id: provider, models }) => models.flatMap(({ id, kind, price }) => kind === "chat" && price !== undefined ? [{ provider, id: `${provider}/${id}`, price }] : []))
const [free] = chats.filter(({ price }) => price.input === 0 && price.output === 0)
const [dear] = chats.filter(({ price }) => (price.input ?? 0) > 0)
if (free === undefined || dear === undefined) throw new Error("the registry has no free chat model, or no dear one")

const listed = (pricing: Readonly<Record<string, unknown>> = {}, synced: Readonly<Record<string, unknown>> = {}, providers = [free.provider, dear.provider]) =>
  freeModelsOf({
    activeByProvider: new Map(providers.map((id) => [id, []])), pricing: new Map(Object.entries(pricing)),
    synced: { prices: new Map(Object.entries(synced)), facts: new Map() }
  }, null)

describe("free models", () => {
  it("are those with a price of 0 of providers that have a connection", () => {
    expect(listed()).toContain(free.id)
    expect(listed()).not.toContain(dear.id)
    expect(listed({}, {}, [])).toEqual([])
  })

  it("follow the operator's price and a synchronised one", () => {
    expect(listed({ [free.id]: { input: 1, output: 0 } })).not.toContain(free.id)
    expect(listed({ [free.id]: { per_request: 1 } })).not.toContain(free.id)
    expect(listed({}, { [free.id]: { input: 0, output: 2 } })).not.toContain(free.id)
    expect(listed({ [dear.id]: { input: 0, output: 0 } })).toContain(dear.id)
    // The operator's price stands before the other.
    expect(listed({ [dear.id]: { input: 0, output: 0 } }, { [dear.id]: { input: 3, output: 3 } })).toContain(dear.id)
  })

  it("are the one that a variable names, where it does", () => {
    expect(freeModelsOf({ activeByProvider: new Map(), pricing: new Map(), synced: { prices: new Map(), facts: new Map() } }, "lab/gift")).toEqual(["lab/gift"])
  })
})
