/** Is caching worth it: what stored answers and the vendors' prompt caches save, what is stored, and how to forget it. */
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { useChange, useRead } from "../../api/query.ts"
import { count, money, percent, tokens } from "../../format/numbers.ts"
import { Bars } from "../../parts/Bars.tsx"
import { Copy } from "../../parts/Copy.tsx"
import { Confirm } from "../../parts/Dialog.tsx"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Ago, Countdown } from "../../parts/Time.tsx"
import { Button } from "../../parts/Button.tsx"
import { Config } from "./Config.tsx"
import { type Forgotten, Forget } from "./Forget.tsx"
import { verdictOf } from "./verdict.ts"

const EVERY_MS = 10_000
const ON_A_PAGE = 25

const sorts = [
  { value: "created_at", word: "Newest first" }, { value: "hit_count", word: "Most used first" }, { value: "tokens_saved", word: "Most tokens saved first" }, { value: "expires_at", word: "Latest to expire first" }
] as const

const clock = (iso: string): string => iso.slice(11, 16)

const Figures = () => {
  const read = useRead("GET /api/cache", { query: { trendHours: 24 } }, { everyMs: EVERY_MS })
  return (
    <Loaded read={read} what="The figures of the caches">
      {({ idempotency, promptCache, semanticCache, trend }) => (
        <div className="stack">
          <dl className="tiles">
            <div className="tile"><dt>Answers stored</dt><dd>{count(semanticCache.dbEntries)}</dd><dd className="unit">{count(semanticCache.memoryEntries)} in memory</dd></div>
            <div className="tile"><dt>Answered from the store</dt><dd>{semanticCache.hitRate}</dd><dd className="unit">{count(semanticCache.hits)} of {count(semanticCache.hits + semanticCache.misses)}, this node</dd></div>
            <div className="tile"><dt>Tokens not bought again</dt><dd title={count(semanticCache.tokensSaved)}>{tokens(semanticCache.tokensSaved)}</dd><dd className="unit">this node, since its start</dd></div>
            <div className="tile"><dt>Vendors' caches saved</dt><dd>{promptCache === null ? "–" : money(promptCache.estimatedCostSaved)}</dd><dd className="unit">{promptCache === null ? "not known" : `${tokens(promptCache.tokensSaved)} tokens read from them`}</dd></div>
            <div className="tile"><dt>Requests kept to repeat</dt><dd>{count(idempotency.activeKeys)}</dd><dd className="unit">{idempotency.windowMs === 0 ? "off" : `for ${count(idempotency.windowMs)} ms`}</dd></div>
          </dl>
          <div className="columns">
            <Panel title="Health of the vendors' prompt caches">
              <div className="panel-body">
                {(() => {
                  const { tone, why, word } = verdictOf(promptCache)
                  return <p className="wrap"><Status tone={tone} word={word} /> <span className="small muted">{why}</span></p>
                })()}
                {promptCache === null || Object.keys(promptCache.byProvider).length === 0 ? null : (
                  <Table label="Prompt caches by provider">
                    <Head of={["Provider", ">Requests", ">Tokens in", ">Read", ">Written", ">Share read"]} />
                    <tbody>
                      {Object.entries(promptCache.byProvider).map(([provider, row]) => (
                        <tr key={provider}>
                          <td className="cut" title={provider}>{provider}</td><td className="end">{count(row.requests)}</td><td className="end" title={count(row.inputTokens)}>{tokens(row.inputTokens)}</td>
                          <td className="end" title={count(row.cachedTokens)}>{tokens(row.cachedTokens)}</td><td className="end" title={count(row.cacheCreationTokens)}>{tokens(row.cacheCreationTokens)}</td>
                          <td className="end">{row.inputTokens === 0 ? "–" : percent(row.cachedTokens / row.inputTokens)}</td>
                        </tr>
                      ))}
                    </tbody>
                  </Table>
                )}
              </div>
            </Panel>
            <Panel title="Tokens read from caches, last 24 hours">
              <div className="panel-body">
                {trend.length === 0 ? <Empty icon="cache" title="No request yet" /> : (
                  <Bars label="Cached tokens by hour" shown={tokens} first={clock(trend[0]?.hour ?? "")} last={`${clock(trend.at(-1)?.hour ?? "")} UTC`} bars={trend.map(({ cachedTokens, hour }) => ({ word: hour, value: cachedTokens }))} />
                )}
              </div>
            </Panel>
          </div>
        </div>
      )}
    </Loaded>
  )
}

const Cache = () => {
  const { model, page: at, search, sort = "created_at" } = useSearch({ from: "/cache" })
  const navigate = useNavigate({ from: "/cache" })
  const page = Math.max(1, Math.floor(Number(at ?? 1)) || 1)
  const entries = useRead("GET /api/cache/entries", { query: { page, limit: ON_A_PAGE, search, model, sortBy: sort, sortOrder: "desc" } }, { everyMs: EVERY_MS })
  const [forgetting, setForgetting] = useState<Forgotten | null>(null)
  const [resetting, setResetting] = useState(false)
  const reset = useChange("DELETE /api/settings/cache-metrics", ["GET /api/cache"], () => setResetting(false), { said: "Counted from now on.", isRecord: false })
  const filtered = search !== undefined || model !== undefined
  const set = (change: Partial<Record<"model" | "page" | "search" | "sort", string>>): void =>
    void navigate({ search: Object.fromEntries(Object.entries({ model, search, sort, page: "", ...change }).filter(([, value]) => value !== undefined && value !== "" && value !== "created_at")), replace: true })
  return (
    <Page
      title="Cache" lead="Equal requests can be answered from the store, without a provider. A key never gets another key's answers."
      actions={
        <>
          <Button onClick={() => setResetting(true)}>Count anew</Button>
          <Button kind="danger" onClick={() => setForgetting({ what: "all" })}>Forget …</Button>
        </>
      }
    >
      <Figures />
      <Config />
      <Panel title="Stored answers">
        <div className="panel-head">
          <div className="filters">
            <TextField className="field-wide" label="Find" type="search" value={search ?? ""} placeholder="Part of a model or signature" onChange={(value) => set({ search: value })} />
            <TextField label="Model" value={model ?? ""} placeholder="in full" onChange={(value) => set({ model: value })} />
            <SelectField label="Order" value={sort} choices={sorts} onChange={(value) => set({ sort: value })} />
          </div>
        </div>
        <Loaded read={entries} what="The stored answers">
          {({ entries: rows, pagination }) => rows.length === 0 ? (
            filtered ? <Empty icon="search" title="No stored answer fits" action={<Button onClick={() => void navigate({ search: {} })}>Show all</Button>} />
              : <Empty icon="cache" title="Nothing is stored">Answers are stored while the cache is on, for requests whose answer would be the same again: those with <code>temperature</code> 0 that do not stream tools.</Empty>
          ) : (
            <>
              <Table label="Stored answers" isStale={entries.isPlaceholderData}>
                <Head of={["Model", "Signature", ">Used", ">Tokens saved", "Stored", "Ends in", ""]} />
                <tbody>
                  {rows.map((entry) => (
                    <tr key={entry.id}>
                      <td className="cut" title={entry.model}>{entry.model}</td><td><Copy value={entry.signature} /></td><td className="end">{count(entry.hit_count)}</td>
                      <td className="end" title={count(entry.tokens_saved)}>{tokens(entry.tokens_saved)}</td><td><Ago at={entry.created_at} /></td><td><Countdown until={entry.expires_at} /></td>
                      <td className="actions"><Button kind="small" onClick={() => setForgetting({ what: "signature", signature: entry.signature, model: entry.model })} aria-label={`Forget an answer of ${entry.model}`}>Forget</Button></td>
                    </tr>
                  ))}
                </tbody>
              </Table>
              <div className="panel-head">
                <Button kind="small" disabled={page <= 1} onClick={() => set({ page: page === 2 ? "" : String(page - 1) })}>Previous</Button>
                <span className="small muted number">Page {pagination.page} of {Math.max(1, pagination.totalPages)}, {count(pagination.total)} answers</span>
                <Button kind="small" disabled={page >= pagination.totalPages} onClick={() => set({ page: String(page + 1) })}>Next</Button>
              </div>
            </>
          )}
        </Loaded>
      </Panel>
      {forgetting === null ? null : <Forget asked={forgetting} onClose={() => setForgetting(null)} />}
      {resetting ? (
        <Confirm title="Count anew?" confirm="Count from now on" pending={reset.isPending} onClose={() => setResetting(false)} onConfirm={() => reset.mutate({})} failed="The counters were not reset" error={reset.error}>
          <p>Figures of the vendors' prompt caches begin at zero. What is stored stays, and so does the ledger.</p>
        </Confirm>
      ) : null}
    </Page>
  )
}

export default Cache
