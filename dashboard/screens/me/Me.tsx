/** What a key may know of itself: use, limits, models. The key stays in memory; no session is used, and none is needed. */
import { useMutation } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { ask, Problem, problemOf } from "../../api/call.ts"
import type { SelfUsage } from "#src/features/usage/own/api.ts"
import { Brand } from "../../app/Brand.tsx"
import { count, money, tokens } from "../../format/numbers.ts"
import { exact } from "../../format/time.ts"
import { Meter } from "../../parts/Bars.tsx"
import { Failure } from "../../parts/Feedback.tsx"
import { TextField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"

interface Own {
  readonly usage: SelfUsage | null
  /** Why the key may not read its use; its models are shown all the same. */
  readonly refused: Problem | null
  readonly models: ReadonlyArray<string>
}

/** Models that are listed at once. */
const MOST = 200

const read = async (path: string, key: string): Promise<unknown> => {
  const reply = await ask(path, { credentials: "omit", headers: { authorization: `Bearer ${key}` } })
  const said: unknown = await reply.json().catch(() => null)
  if (!reply.ok) throw problemOf(reply, said)
  return said
}

const ownOf = async (key: string): Promise<Own> => {
  const { data } = await read("/v1/models", key) as { readonly data: ReadonlyArray<{ readonly id: string }> }
  const models = data.map(({ id }) => id)
  try {
    return { usage: await read("/api/usage/self-usage?format=json", key) as SelfUsage, refused: null, models }
  } catch (error) {
    if (error instanceof Problem && error.status === 403) return { usage: null, refused: error, models }
    throw error
  }
}

const Use = ({ usage }: { readonly usage: SelfUsage }) => (
  <>
    <dl className="tiles" aria-label="Spent">
      <div className="tile"><dt>Today</dt><dd>{money(usage.spent.dailyUsd)}</dd><dd className="unit">since 03:00 UTC</dd></div>
      <div className="tile"><dt>This week</dt><dd>{money(usage.spent.weeklyUsd)}</dd><dd className="unit">since Monday 03:00 UTC</dd></div>
      <div className="tile"><dt>Sessions at once</dt><dd>{usage.maxSessions === 0 ? "any" : count(usage.maxSessions)}</dd><dd className="unit">limit</dd></div>
    </dl>
    <Panel title="Limits">
      {usage.limits.length === 0 && usage.rates.length === 0 && usage.personal === undefined ? <p className="panel-body muted">This key has no limit of its own.</p> : (
        <Table label="Limits">
          <Head of={["What", "Used", ">Of", "Begins anew"]} />
          <tbody>
            {usage.limits.map((limit) => (
              <tr key={`${limit.kind} ${limit.scope} ${limit.interval}`}>
                <td>{limit.kind === "usd" ? "Money" : "Tokens"}, {limit.scope}, {limit.interval}</td>
                <td><Meter share={limit.limit === 0 ? 1 : limit.used / limit.limit} label={`Used of ${limit.scope}, ${limit.interval}`} /> <span className="number">{limit.kind === "usd" ? money(limit.used) : tokens(limit.used)}</span></td>
                <td className="end">{limit.kind === "usd" ? money(limit.limit) : tokens(limit.limit)}</td>
                <td>{exact(limit.resetAtIso)}</td>
              </tr>
            ))}
            {usage.personal?.dailyLimitUsd === null || usage.personal === undefined ? null : <tr><td>Money a day</td><td className="number">{money(usage.personal.dailySpentUsd)}</td><td className="end">{money(usage.personal.dailyLimitUsd)}</td><td>{exact(usage.personal.dailyResetAtIso)}</td></tr>}
            {usage.personal?.weeklyLimitUsd === null || usage.personal === undefined ? null : <tr><td>Money a week</td><td className="number">{money(usage.personal.weeklySpentUsd)}</td><td className="end">{money(usage.personal.weeklyLimitUsd)}</td><td>{exact(usage.personal.weeklyResetAtIso)}</td></tr>}
            {usage.rates.map((rate) => <tr key={rate.windowSeconds}><td>Requests in {count(rate.windowSeconds)} s</td><td>–</td><td className="end">{count(rate.limit)}</td><td>–</td></tr>)}
          </tbody>
        </Table>
      )}
    </Panel>
  </>
)

const Me = () => {
  const [key, setKey] = useState("")
  const look = useMutation<Own, Error, string>({ mutationFn: ownOf })
  useEffect(() => {
    document.title = "Own use · Gateway"
  }, [])
  const own = look.data
  return (
    <main className="page own-page" id="main">
      <header className="page-head"><div><Brand /><h1>{own?.usage?.name ?? "Own use"}</h1><p className="muted">What your key used, what it may use, and which models it may ask. The key is kept nowhere.</p></div></header>
      <Form className="filters" onSubmit={() => look.mutate(key.trim())}>
        <TextField className="field-wide" label="API key" type="password" value={key} onChange={setKey} required />
        <Button type="submit" kind="primary" disabled={look.isPending || key.trim() === ""}>{own === undefined ? "Show" : "Show again"}</Button>
        {own === undefined ? null : (
          <button
            type="button" className="button"
            onClick={() => {
              setKey("")
              look.reset()
            }}
          >Forget the key</button>
        )}
      </Form>
      <Failure what="Nothing can be shown for this key" error={look.error} />
      {own === undefined ? null : (
        <div className="stack">
          {own.usage === null ? null : <Use usage={own.usage} />}
          {own.refused === null ? null : <p className="panel panel-body">{own.refused.message} Ask the operator to allow it.</p>}
          <Panel title={`Models (${own.models.length})`}>
            <ul className="panel-body row" aria-label="Models">{own.models.slice(0, MOST).map((id) => <li key={id}><code className="tag">{id}</code></li>)}</ul>
            {own.models.length > MOST ? <p className="panel-body muted small">And {count(own.models.length - MOST)} more: GET /v1/models lists all.</p> : null}
          </Panel>
        </div>
      )}
    </main>
  )
}

export default Me
