/** Which models can be called, and at what price; those without one come first, because their use counts as free. */
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { useId, useState } from "react"
import { useRead } from "../../api/query.ts"
import { count, counted, duration, money, percent, tokens, unknown } from "../../format/numbers.ts"
import { filled } from "../../format/members.ts"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Actions, Head, Table } from "../../parts/Table.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"
import { nameOf } from "../combos/draft.ts"
import { How } from "./How.tsx"
import { ModelNames, useConnected } from "./ModelNames.tsx"
import { Aliases, WhoAnswers } from "./Names.tsx"
import { Lists } from "./Lists.tsx"
import { Price } from "./Price.tsx"
import { hidesCost, inOrder, type Model, modelsOf, tokensOf } from "./used.ts"

/** Rows that are drawn; the filter finds the others. */
const MOST_ROWS = 200
const WINDOW_HOURS = 24

const shows = [{ value: "", word: "Connected providers" }, { value: "unpriced", word: "Without a price" }, { value: "mine", word: "With a price of yours" }, { value: "all", word: "All" }]

const dollars = (value: number | undefined): string => value === undefined ? unknown : money(value)

const Models = () => {
  const { search = "", show = "" } = useSearch({ from: "/models" })
  const navigate = useNavigate({ from: "/models" })
  const models = useRead("GET /api/pricing/models")
  const prices = useRead("GET /api/pricing", { query: { includeSources: "1" } })
  const usage = useRead("GET /api/usage/analytics", { query: { range: "30d" } })
  const latency = useRead("GET /api/usage/model-latency-stats", { query: { windowHours: WINDOW_HOURS } })
  const combos = useRead("GET /api/combos")
  const names = useId()
  const connected = useConnected()
  const [open, setOpen] = useState<Model | null>(null)
  const [how, setHow] = useState<Pick<Model, "model" | "provider"> | null>(null)
  const wanted = search.toLowerCase()
  const usedBy = (id: string): ReadonlyArray<string> => (combos.data?.combos ?? []).filter(({ models: steps }) => steps.some((step) => step.kind === "model" && nameOf(step) === id)).map(({ name }) => name)
  const set = (change: { readonly search?: string; readonly show?: string }): void => void navigate({ search: filled({ search, show, ...change }), replace: true })
  return (
    <Page title="Models & prices" lead="Prices are dollars for a million tokens. A model without a price counts as free in budgets and sums." actions={<Button onClick={() => setHow({ provider: "", model: "" })}><Icon name="plus" size={16} />Add a model</Button>}>
      <Panel>
        <div className="panel-head">
          <div className="filters">
            <TextField className="field-wide" label="Find" type="search" value={search} placeholder="Model or provider" onChange={(value) => set({ search: value })} />
            <SelectField label="Show" value={show} choices={shows} onChange={(value) => set({ show: value })} />
          </div>
        </div>
        <Loaded read={models} what="The models" rows={8}>
          {({ models: rows }) => {
            const all = modelsOf({ models: rows, prices: prices.data, usage: usage.data?.byModel ?? [], latencies: latency.data?.entries ?? [] })
            const hidden = all.filter(hidesCost)
            const list = all.filter((row) =>
              `${row.provider}/${row.model} ${row.name}`.toLowerCase().includes(wanted)
              && (show === "all" || (show === "unpriced" ? !row.priced : show === "mine" ? row.price?.source === "user" : connected.has(row.provider) || hidesCost(row)))).sort(inOrder)
            if (list.length === 0) return <Empty icon="models" title="No model fits" action={<Button onClick={() => void navigate({ search: { show: "all" } })}>Show all</Button>} />
            return (
              <>
                {hidden.length === 0 ? null : (
                  <p className="panel-body"><Status tone="warn" word={`${counted(hidden.length, "model has", "models have")} no price but some use`} /> <span className="small">{tokens(hidden.reduce((sum, row) => sum + tokensOf(row), 0))} tokens of the last 30 days count as free, in sums and in budgets.</span></p>
                )}
                <Table label="Models">
                  <Head of={["Model", "Name", ">Input", ">Output", ">Cached", "Price", ">Used, 30 days", ">Cost", ">p50, 24 h", ">Success", "In combos", ""]} />
                  <tbody>
                    {list.slice(0, MOST_ROWS).map((row) => {
                      const id = `${row.provider}/${row.model}`
                      return (
                        <tr key={id}>
                          <td className="cut" title={id}><Link to="/play" search={{ model: id }} className="row-link">{id}</Link>{row.isFree ? <> <span className="tag">free</span></> : null}</td>
                          <td className="cut" title={row.name}>{row.name}</td>
                          <td className="end">{dollars(row.price?.input)}</td>
                          <td className="end">{dollars(row.price?.output)}</td>
                          <td className="end">{dollars(row.price?.cached)}</td>
                          <td>{row.price?.source === "user" ? <Status tone="info" word="yours" shape="◆" /> : row.price?.source === "synced" ? <Status tone="ok" word="synced" /> : row.priced ? <Status tone="ok" word="shipped" /> : <Status tone="warn" word="none" />}</td>
                          <td className="end" title={row.used === undefined ? undefined : `${count(row.used.requests)} attempts`}>{row.used === undefined ? unknown : <Link to="/requests" search={{ provider: row.provider, model: row.model }}>{tokens(tokensOf(row))} tokens</Link>}</td>
                          <td className="end">{row.used === undefined ? unknown : hidesCost(row) ? <Status tone="warn" word="not known" /> : money(row.used.cost)}</td>
                          <td className="end">{duration(row.latency?.p50LatencyMs)}</td><td className="end">{percent(row.latency?.successRate)}</td>
                          <td className="wrap">{usedBy(id).map((name) => <span key={name} className="tag">{name}</span>)}</td>
                          <Actions><Button kind="small quiet icon" onClick={() => setHow(row)} aria-label={`How ${id} is called`} title="How it is called"><Icon name="settings" size={16} /></Button><IconButton icon="edit" word="Price" of={`of ${id}`} onClick={() => setOpen(row)} /></Actions>
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
      <div className="columns">
        <WhoAnswers list={names} />
        <Aliases list={names} />
      </div>
      <Lists />
      <ModelNames id={names} />
      {how === null ? null : <How provider={how.provider} model={how.model} onClose={() => setHow(null)} />}
      {open === null ? null : <Price provider={open.provider} model={open.model} price={open.price} onClose={() => setOpen(null)} />}
    </Page>
  )
}

export default Models
