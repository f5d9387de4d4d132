/** Which models can be called, and at what price; those without one come first, because their use counts as free. */
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { useRead } from "../../api/query.ts"
import { count, money, unknown } from "../../format/numbers.ts"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Table } from "../../parts/Table.tsx"
import { useShownProvider } from "../providers/vendors.ts"
import { Price, type PriceRow } from "./Price.tsx"

/** Rows that are drawn; the filter finds the others. */
const MOST_ROWS = 200

const shows = [{ value: "", word: "Of connected providers" }, { value: "unpriced", word: "Without a price" }, { value: "mine", word: "With a price of yours" }, { value: "all", word: "All" }]

interface Model {
  readonly provider: string
  readonly model: string
  readonly name: string
  readonly priced: boolean
  readonly price: PriceRow | undefined
}

const dollars = (value: number | undefined): string => value === undefined ? unknown : money(value)

const Models = () => {
  const { search = "", show = "" } = useSearch({ from: "/models" })
  const navigate = useNavigate({ from: "/models" })
  const models = useRead("GET /api/pricing/models")
  const prices = useRead("GET /api/pricing", { query: { includeSources: "1" } })
  const connections = useRead("GET /api/providers")
  const shownProvider = useShownProvider()
  const [open, setOpen] = useState<Model | null>(null)
  const connected = new Set(["sim", ...(connections.data?.connections ?? []).map(({ provider }) => shownProvider(provider))])
  const wanted = search.toLowerCase()
  const set = (change: { readonly search?: string; readonly show?: string }): void => void navigate({ search: Object.fromEntries(Object.entries({ search, show, ...change }).filter(([, value]) => value !== "")), replace: true })
  return (
    <Page title="Models & prices" lead="Prices are dollars for a million tokens. A model without a price counts as free in budgets and sums.">
      <Panel>
        <div className="panel-head">
          <div className="filters">
            <TextField className="field-wide" label="Find" type="search" value={search} placeholder="Model or provider" onChange={(value) => set({ search: value })} />
            <SelectField label="Show" value={show} choices={shows} onChange={(value) => set({ show: value })} />
          </div>
        </div>
        <Loaded read={models} what="The models" rows={8}>
          {({ models: rows }) => {
            const list = rows.map((row): Model => ({ ...row, price: prices.data?.[row.provider]?.[row.model] })).filter((row) =>
              `${row.provider}/${row.model} ${row.name}`.toLowerCase().includes(wanted)
              && (show === "all" || (show === "unpriced" ? !row.priced : show === "mine" ? row.price?.source === "user" : connected.has(row.provider))))
              .sort((a, b) => Number(a.priced) - Number(b.priced) || a.provider.localeCompare(b.provider) || a.model.localeCompare(b.model))
            if (list.length === 0) return <Empty icon="models" title="No model fits" action={<button type="button" className="button" onClick={() => void navigate({ search: { show: "all" } })}>Show all</button>} />
            return (
              <>
                <Table label="Models">
                  <thead><tr><th scope="col">Model</th><th scope="col">Name</th><th scope="col" className="end">Input</th><th scope="col" className="end">Output</th><th scope="col" className="end">Cached</th><th scope="col">Price</th><th scope="col"><span className="hidden-text">Actions</span></th></tr></thead>
                  <tbody>
                    {list.slice(0, MOST_ROWS).map((row) => {
                      const id = `${row.provider}/${row.model}`
                      return (
                        <tr key={id}>
                          <td className="cut" title={id}><Link to="/play" search={{ model: id }} className="row-link">{id}</Link></td>
                          <td className="cut" title={row.name}>{row.name}</td>
                          <td className="end">{dollars(row.price?.input)}</td>
                          <td className="end">{dollars(row.price?.output)}</td>
                          <td className="end">{dollars(row.price?.cached)}</td>
                          <td>{row.price?.source === "user" ? <Status tone="info" word="yours" shape="◆" /> : row.priced ? <Status tone="ok" word="shipped" /> : <Status tone="warn" word="none" />}</td>
                          <td className="actions"><button type="button" className="button button-small button-quiet button-icon" onClick={() => setOpen(row)} aria-label={`Price of ${id}`} title="Price"><Icon name="edit" size={16} /></button></td>
                        </tr>
                      )
                    })}
                  </tbody>
                </Table>
                {list.length > MOST_ROWS ? <p className="panel-body small muted">{count(MOST_ROWS)} of {count(list.length)} are shown. The filter finds the others.</p> : null}
              </>
            )
          }}
        </Loaded>
      </Panel>
      {open === null ? null : <Price provider={open.provider} model={open.model} price={open.price} onClose={() => setOpen(null)} />}
    </Page>
  )
}

export default Models
