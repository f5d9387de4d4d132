/** Requests that run right now. */
import { duration, tokens } from "../../format/numbers.ts"
import type { Running } from "../../live/running.ts"
import { useNow } from "../../parts/now.ts"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Head, Table } from "../../parts/Table.tsx"

export const InFlight = ({ running }: { readonly running: ReadonlyMap<string, Running> }) => {
  const now = useNow()
  if (running.size === 0) return null
  return (
    <Panel title={`In flight (${running.size})`}>
      <Table label="Requests in flight">
        <Head of={["State", "Asked for", "Provider", "Combo", ">Age", ">Tokens so far"]} />
        <tbody>
          {[...running.values()].map((request) => (
            <tr key={request.id}>
              <td><Status tone="info" word={request.tokens > 0 ? "Streams" : "Waits"} /></td>
              <td className="cut" title={request.model}>{request.model}</td>
              <td className="cut">{request.provider ?? "–"}</td>
              <td className="cut">{request.combo ?? "–"}</td>
              <td className="end">{duration(Math.max(0, now - Date.parse(request.startedAt)))}</td>
              <td className="end">{request.tokens === 0 ? "–" : `≈ ${tokens(request.tokens)}`}</td>
            </tr>
          ))}
        </tbody>
      </Table>
    </Panel>
  )
}
