/** What each limit of a key would say to one request of so many tokens; nothing is sent or reserved. */
import { useId, useState } from "react"
import { useRead } from "../../api/query.ts"
import { money } from "../../format/numbers.ts"
import { Empty } from "../../parts/Feedback.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Countdown } from "../../parts/Time.tsx"
import type { Key } from "../keys/sentence.ts"
import { type Row, shown, type Verdict, verdicts } from "./rows.ts"

const PER_PRICE = 1_000_000

const whole = (text: string): number => Math.max(0, Math.floor(Number(text)) || 0)

const sentence = ({ left, passes, row }: Verdict): string =>
  passes === null ? `at most ${shown(row.limit, row.unit)}; what is used is counted by each node` : left === null ? `more than ${shown(row.limit, row.unit)}` : passes ? `leaves ${shown(left, row.unit)}` : `${shown(-left, row.unit)} too much`

export const WhatIf = ({ keys, rows }: { readonly keys: ReadonlyArray<Key>; readonly rows: ReadonlyArray<Row> }) => {
  const [chosen, setKey] = useState("")
  const [name, setName] = useState("sim/echo")
  const [tokensIn, setIn] = useState("1000")
  const [tokensOut, setOut] = useState("500")
  const list = useId()
  const prices = useRead("GET /api/pricing")
  const keyId = keys.some(({ id }) => id === chosen) ? chosen : keys.find(({ id }) => rows.some((row) => row.keyId === id))?.id ?? keys[0]?.id ?? ""
  const slash = name.indexOf("/")
  const provider = name.slice(0, Math.max(0, slash))
  const model = name.slice(slash + 1)
  const price = prices.data?.[provider]?.[model]
  const costUsd = price === undefined ? null : (whole(tokensIn) * (price.input ?? 0) + whole(tokensOut) * (price.output ?? 0)) / PER_PRICE + (price.per_request ?? 0)
  const found = verdicts(rows, { keyId, provider, model, tokens: whole(tokensIn) + whole(tokensOut), costUsd })
  const refused = found.find(({ passes }) => passes === false)
  return (
    <Panel title="What if a request …">
      <div className="panel-body">
        <div className="grid-fields">
          <SelectField label="Key of the request" value={keyId} choices={keys.map(({ id, name: word }) => ({ value: id, word }))} onChange={setKey} />
          <TextField label="Model of the request" value={name} list={list} onChange={setName} hint={costUsd === null ? "It has no price: budgets count it as free" : `It would cost ${money(costUsd)}`} />
          <TextField label="Tokens in" type="number" value={tokensIn} onChange={setIn} />
          <TextField label="Tokens out" type="number" value={tokensOut} onChange={setOut} />
        </div>
        <datalist id={list}>{Object.entries(prices.data ?? {}).flatMap(([id, models]) => Object.keys(models).map((each) => <option key={`${id}/${each}`} value={`${id}/${each}`}>{`${id}/${each}`}</option>))}</datalist>
        {found.length === 0 ? <Empty icon="limits" title="Nothing limits such a request">Of this key at this model. Vendors may still refuse it.</Empty> : (
          <div role="status" aria-label="Answer">
            <p><Status tone={refused === undefined ? "ok" : "bad"} word={refused === undefined ? "It would pass" : "It would be refused"} />{refused === undefined || refused.row.resetAt === null ? null : <span className="small"> until <Countdown until={refused.row.resetAt} /> have passed</span>}</p>
            <ul className="stack-tight" aria-label="Limits that are asked">
              {found.map((verdict) => (
                <li key={verdict.row.id} className="row">
                  <Status tone={verdict.passes === null ? "info" : verdict.passes ? "ok" : "bad"} word={verdict.row.what} /><span className="small muted number">{sentence(verdict)}</span>
                </li>
              ))}
            </ul>
          </div>
        )}
      </div>
    </Panel>
  )
}
