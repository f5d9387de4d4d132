/** Searches of the web: which providers can, what they came to, and one to try. */
import { Link } from "@tanstack/react-router"
import { useRead } from "../../api/query.ts"
import { count, duration, money, percent } from "../../format/numbers.ts"
import { Bars } from "../../parts/Bars.tsx"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Try } from "./Try.tsx"

const EVERY_MS = 10_000

const clock = (iso: string | undefined): string => (iso ?? "").slice(11, 16)

const Providers = () => {
  const read = useRead("GET /api/search/providers", {}, { everyMs: EVERY_MS })
  return (
    <Panel title="Providers" actions={<Link to="/providers" className="button button-small">Connections</Link>}>
      <Loaded read={read} what="The providers of searches">
        {({ providers }) => (
          <Table label="Providers of searches">
            <Head of={["Provider", "State", "Types", ">Most results", ">A search costs", "Honours"]} />
            <tbody>
              {[...providers].sort((a, b) => Number(b.configured) - Number(a.configured) || a.name.localeCompare(b.name)).map((provider) => (
                <tr key={provider.id}>
                  <td><strong>{provider.name}</strong><p className="small muted">{provider.id}</p></td>
                  <td><Status tone={provider.configured ? "ok" : "off"} word={provider.configured ? `Connected${provider.connections > 1 ? `, ${provider.connections} times` : ""}` : provider.keyless ? "Needs no key" : "Not connected"} /></td>
                  <td>{provider.searchTypes.join(", ")}</td><td className="end">{count(provider.maxResults)}</td><td className="end">{money(provider.costPerQueryUsd)}</td>
                  <td className="wrap small">{provider.filters.length === 0 ? "–" : provider.filters.join(", ")}</td>
                </tr>
              ))}
            </tbody>
          </Table>
        )}
      </Loaded>
    </Panel>
  )
}

const Figures = () => {
  const read = useRead("GET /api/search/stats", {}, { everyMs: EVERY_MS })
  return (
    <Loaded read={read} what="The figures of searches">
      {(stats) => (
        <div className="stack">
          <dl className="tiles">
            <div className="tile"><dt>Searches</dt><dd>{count(stats.total)}</dd><dd className="unit">{count(stats.today)} today, UTC</dd></div>
            <div className="tile"><dt>From the cache</dt><dd>{percent(stats.cacheHitRate)}</dd><dd className="unit">{count(stats.cached)} searches</dd></div>
            <div className="tile"><dt>Failed</dt><dd>{count(stats.errors)}</dd><dd className="unit">of all</dd></div>
            <div className="tile"><dt>Cost</dt><dd>{money(stats.totalCostUsd)}</dd><dd className="unit">of all</dd></div>
            <div className="tile"><dt>A search takes</dt><dd>{stats.total === 0 ? "–" : duration(stats.avgDurationMs)}</dd><dd className="unit">on average</dd></div>
          </dl>
          <div className="columns">
            <Panel title="Last 24 hours">
              <div className="panel-body"><Bars label="Searches by hour" shown={count} first={clock(stats.last24h[0]?.hour)} last={`${clock(stats.last24h.at(-1)?.hour)} UTC`} bars={stats.last24h.map(({ count: value, hour }) => ({ word: hour, value }))} /></div>
            </Panel>
            <Panel title="By provider and connection">
              {stats.rows.length === 0 ? <Empty icon="search" title="No search yet" /> : (
                <Table label="Searches by provider">
                  <Head of={["Provider", ">Searches", ">Calls", ">Cached", ">Failed", ">Cost", ">Takes"]} />
                  <tbody>
                    {stats.rows.map((row) => (
                      <tr key={`${row.provider} ${row.connectionId ?? ""}`}>
                        <td className="cut" title={row.connectionId ?? undefined}>{row.provider}{row.connectionId === null ? <span className="muted"> from the cache</span> : null}</td>
                        <td className="end">{count(row.requests)}</td><td className="end">{count(row.attempts)}</td><td className="end">{count(row.cached)}</td><td className="end">{count(row.errors)}</td><td className="end">{money(row.costUsd)}</td>
                        <td className="end">{duration(row.avgDurationMs)}</td>
                      </tr>
                    ))}
                  </tbody>
                </Table>
              )}
            </Panel>
          </div>
        </div>
      )}
    </Loaded>
  )
}

const Search = () => (
  <Page title="Search" lead="Programs search the web and fetch pages through the gateway, in one form whichever provider answers.">
    <Try />
    <Figures />
    <Providers />
  </Page>
)

export default Search
