/** One search or one page, asked as a client asks. Results are text of strangers: they are never made into markup. */
import { useMutation } from "@tanstack/react-query"
import { useState } from "react"
import { ask, problemOf } from "../../api/call.ts"
import { queryClient, useRead } from "../../api/query.ts"
import { duration, money } from "../../format/numbers.ts"
import { Empty, Failure } from "../../parts/Feedback.tsx"
import { Check, SelectField, TextField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"

interface Result {
  readonly title: string
  readonly url: string
  readonly snippet: string
}

interface Found {
  readonly provider: string
  readonly results: ReadonlyArray<Result>
  readonly answer: string | null
  readonly cached: boolean
  readonly costUsd: number | null
  readonly tookMs: number
  readonly content: string | null
  /** What the provider could not do. */
  readonly omitted: string | null
}

type Member = Readonly<Record<string, unknown>>

const isMember = (value: unknown): value is Member => typeof value === "object" && value !== null && !Array.isArray(value)
const text = (value: unknown): string => typeof value === "string" ? value : ""

/** Only such addresses become links: a provider may send one that runs. */
const linkOf = (url: string): string | null => /^https?:\/\//i.test(url) ? url : null

const send = async (path: string, body: Member, key: string, anew: boolean): Promise<Found> => {
  const begun = performance.now()
  const reply = await ask(path, {
    // Else the browser adds `Cache-Control: no-cache`, which the gateway obeys.
    method: "POST", cache: "default", body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...(key === "" ? {} : { authorization: `Bearer ${key}` }), ...(anew ? { "x-gateway-no-cache": "true" } : {}) }
  })
  const said: unknown = await reply.json().catch(() => null)
  if (!reply.ok || !isMember(said)) throw problemOf(reply, said)
  const usage = isMember(said["usage"]) ? said["usage"] : {}
  const header = Number(reply.headers.get("x-gateway-response-cost") ?? Number.NaN)
  return {
    provider: text(said["provider"]),
    results: Array.isArray(said["results"]) ? said["results"].filter(isMember).map((result) => ({ title: text(result["title"]), url: text(result["url"]), snippet: text(result["snippet"]) })) : [],
    answer: isMember(said["answer"]) ? text(said["answer"]["text"]) || JSON.stringify(said["answer"]) : text(said["answer"]) || null,
    cached: said["cached"] === true, costUsd: typeof usage["search_cost_usd"] === "number" ? usage["search_cost_usd"] : Number.isNaN(header) ? null : header,
    tookMs: performance.now() - begun, content: typeof said["content"] === "string" ? said["content"] : null, omitted: reply.headers.get("x-gateway-omitted")
  }
}

export const Try = () => {
  const providers = useRead("GET /api/search/providers")
  const [kind, setKind] = useState("web")
  const [words, setWords] = useState("")
  const [provider, setProvider] = useState("")
  const [most, setMost] = useState("5")
  const [key, setKey] = useState("")
  const [anew, setAnew] = useState(false)
  const isPage = kind === "page"
  const run = useMutation<Found, Error>({
    mutationFn: () => isPage
      ? send("/v1/web/fetch", { url: words.trim(), include_metadata: true }, key, anew)
      : send("/v1/search", { query: words.trim(), search_type: kind, max_results: Number(most), ...(provider === "" ? {} : { provider }) }, key, anew),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["GET /api/search/stats"] })
  })
  const found = run.data
  return (
    <Panel title="Try one">
      <Form onSubmit={() => run.mutate()}>
        <div className="grid-fields">
          <SelectField label="What" value={kind} choices={[{ value: "web", word: "Search the web" }, { value: "news", word: "Search news" }, { value: "page", word: "Fetch a page" }]} onChange={setKind} />
          <TextField label={isPage ? "Address" : "Words"} value={words} onChange={setWords} required placeholder={isPage ? "https://" : "capital of France"} />
          {isPage ? null : (
            <>
              <SelectField label="Provider" value={provider} choices={[{ value: "", word: "The cheapest one" }, ...(providers.data?.providers ?? []).filter(({ configured }) => configured).map(({ id, name }) => ({ value: id, word: name }))]} onChange={setProvider} />
              <TextField label="Most results" type="number" value={most} onChange={setMost} />
            </>
          )}
          <TextField label="Key" type="password" value={key} onChange={setKey} hint="Where the gateway requires one" />
        </div>
        <div className="row">
          <Check checked={anew} onChange={setAnew}>Do not answer from the cache</Check>
          <Button type="submit" kind="primary" disabled={run.isPending || words.trim() === ""}>{run.isPending ? "Asking" : isPage ? "Fetch" : "Search"}</Button>
        </div>
        <Failure what={isPage ? "The page was not fetched" : "The search failed"} error={run.error} />
        {found === undefined ? null : (
          <section className="stack" aria-label="Result">
            <p className="small muted" role="status">
              {found.provider}, {duration(found.tookMs)}, {found.cached ? "from the cache, free" : money(found.costUsd)}{found.omitted === null ? "" : `; not honoured: ${found.omitted}`}
            </p>
            {found.answer === null ? null : <p className="well wrap">{found.answer}</p>}
            {found.content === null ? null : <pre className="well well-scroll" tabIndex={0} aria-label="Content of the page">{found.content}</pre>}
            {found.content !== null ? null : found.results.length === 0 ? <Empty icon="search" title="Nothing was found" /> : (
              <ol className="list" aria-label="Results">
                {found.results.map((result, index) => (
                  <li key={`${result.url} ${index}`} className="stack-tight">
                    <strong className="wrap">{linkOf(result.url) === null ? result.title : <a href={result.url} target="_blank" rel="noreferrer noopener">{result.title || result.url}</a>}</strong>
                    <span className="small muted wrap">{result.url}</span><span className="small wrap">{result.snippet}</span>
                  </li>
                ))}
              </ol>
            )}
          </section>
        )}
      </Form>
    </Panel>
  )
}
