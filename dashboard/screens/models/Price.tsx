/** What a model costs; a price of the operator stands before the shipped one. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer } from "../../api/contract.ts"
import { useChange } from "../../api/query.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { TextField } from "../../parts/Field.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { Button } from "../../parts/Button.tsx"

export type PriceRow = Answer<"GET /api/pricing">[string][string]

const fields = { input: "Input", output: "Output", cached: "Read from a cache", cache_creation: "Written to a cache", cache_creation_1h: "Written for an hour", reasoning: "Thinking" } as const
const unitFields = { per_request: "A request", per_image: "An image", per_second: "A second", per_character: "A character", per_page: "A page" } as const
const tierFields = { flex: "Flex", priority: "Priority" } as const
const all = { ...fields, ...unitFields, ...tierFields }
type Field = keyof typeof all

const isTier = (name: Field): name is keyof typeof tierFields => name in tierFields
const valueIn = (price: PriceRow | undefined, name: Field): number | undefined => isTier(name) ? price?.tiers?.[name] : price?.[name]

/** The fields that were changed, as the API takes them. */
const bodyOf = (changed: ReadonlyArray<Field>, texts: Readonly<Record<Field, string>>) => {
  const given = (names: ReadonlyArray<Field>) => Object.fromEntries(names.map((name) => [name, Number(texts[name])]))
  const tiers = changed.filter(isTier)
  return { ...given(changed.filter((name) => !isTier(name))), ...(tiers.length === 0 ? {} : { tiers: given(tiers) }) }
}

const touched = ["GET /api/pricing", "GET /api/pricing/models"] as const

export const Price = ({ model, onClose, price, provider }: { readonly provider: string; readonly model: string; readonly price: PriceRow | undefined; readonly onClose: () => void }) => {
  const names = Object.keys(all) as ReadonlyArray<Field>
  const stored = Object.fromEntries(names.map((name) => [name, String(valueIn(price, name) ?? "")])) as Readonly<Record<Field, string>>
  const [texts, setTexts] = useState(stored)
  const back = () => {
    const { long: _long, source, ...before } = price ?? { source: "default" as const, long: undefined }
    return source === "user" ? () => call("PATCH /api/pricing", { body: { [provider]: { [model]: before } } }) : () => call("DELETE /api/pricing", { query: { provider, model } })
  }
  const save = useChange("PATCH /api/pricing", touched, onClose, { said: "The price is set.", undo: back })
  const reset = useChange("DELETE /api/pricing", touched, onClose, { said: "The price that was there before holds again.", undo: back })
  const changed = names.filter((name) => texts[name] !== stored[name] && texts[name].trim() !== "")
  const input = (name: Field) => <TextField key={name} label={all[name]} type="number" value={texts[name]} placeholder="none" onChange={(value) => setTexts({ ...texts, [name]: value })} />
  return (
    <Dialog title={`Price of ${provider}/${model}`} wide onClose={onClose} onSubmit={() => save.mutate({ body: { [provider]: { [model]: bodyOf(changed, texts) } } })}>
      <p className="muted">Dollars for a million tokens. It counts for requests from now on; what was settled stays.</p>
      <div className="grid-fields">{(Object.keys(fields) as ReadonlyArray<Field>).map(input)}</div>
      <details>
        <summary>Dollars for one unit</summary>
        <div className="grid-fields" style={{ paddingTop: "1rem" }}>{(Object.keys(unitFields) as ReadonlyArray<Field>).map(input)}</div>
      </details>
      <details>
        <summary>Service tiers, times the price of tokens</summary>
        <div className="grid-fields" style={{ paddingTop: "1rem" }}>{(Object.keys(tierFields) as ReadonlyArray<Field>).map(input)}</div>
      </details>
      <Submit failed="The price was not changed" of={[save, reset]} isOff={changed.length === 0} extra={price?.source === "user" ? <Button disabled={reset.isPending} onClick={() => reset.mutate({ query: { provider, model } })}>Back to the default</Button> : null} />
    </Dialog>
  )
}
