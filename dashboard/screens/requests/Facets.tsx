/** Values of the calls that were found, with counts; a click filters by one, another click takes it back. */
import type { Answer } from "../../api/contract.ts"
import { count } from "../../format/numbers.ts"

type Counted = Answer<"GET /api/usage/call-logs/facets">

/** Facet, its word, and the filter that takes its values. */
export const facets = [
  ["outcome", "Outcome", "outcome"], ["status", "Status", "status"], ["error", "Error", "error"], ["provider", "Provider", "provider"], ["model", "Model", "model"],
  ["apiKey", "Key", "key"], ["connection", "Connection", "account"], ["combo", "Combo", "combo"]
] as const

export type FilterName = typeof facets[number][2]

export const Facets = ({ chosen, counted, onChoose }: {
  readonly counted: Counted
  readonly chosen: (name: FilterName) => string | undefined
  readonly onChoose: (name: FilterName, value: string | undefined) => void
}) => (
  <section className="panel" aria-label="Facets">
    {facets.map(([facet, word, name]) => {
      const values = counted.facets[facet]
      return values.length === 0 ? null : (
        <details key={facet} className="facet" open={values.length > 1 || chosen(name) !== undefined}>
          <summary>{word} <span className="muted small">{values.length}</span></summary>
          <ul>
            {values.map(({ count: some, label, value }) => (
              <li key={value}>
                <button type="button" aria-pressed={chosen(name) === value} title={label === null ? value : `${label} (${value})`} onClick={() => onChoose(name, chosen(name) === value ? undefined : value)}>
                  <span>{label ?? value}</span><span className="number muted">{count(some)}</span>
                </button>
              </li>
            ))}
          </ul>
        </details>
      )
    })}
    {counted.complete ? null : <p className="muted small panel-body">Of the newest {count(counted.looked)} calls of the range.</p>}
  </section>
)
