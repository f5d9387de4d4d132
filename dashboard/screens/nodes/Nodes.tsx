/** The processes of the gateway: which live, and whether all act on the newest configuration. */
import { useRead } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { Loaded } from "../../parts/Feedback.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Degradation } from "./Degradation.tsx"

const EVERY_MS = 2_000

const Nodes = () => {
  const read = useRead("GET /api/nodes", {}, { everyMs: EVERY_MS })
  const contract = useRead("GET /api/health/degradation")
  return (
    <Page title="Nodes" lead="The processes of this gateway. With Postgres and Redis any number of them work as one.">
      <Loaded read={read} what="The nodes">
        {({ converged, nodes, version }) => (
          <Panel title="Processes" actions={converged ? <Status tone="ok" word={`All act on version ${count(version)}`} /> : <Status tone="warn" word={`Not all act on version ${count(version)} yet`} />}>
            <Table label="Nodes">
                <Head of={["Node", "State", "Host", ">Worker", "Release", "Started", ">Version", "Seen"]} />
                <tbody>
                  {nodes.map((node) => (
                    <tr key={`${node.id} ${node.worker} ${node.pid}`}>
                      <td className="cut" title={node.id}>{node.id}{node.self ? <> <span className="tag">this one</span></> : null}</td>
                      <td><Status tone={node.status === "alive" ? "ok" : "bad"} word={node.status === "alive" ? "Alive" : "Silent"} /></td>
                      <td className="cut" title={`${node.host}, ${node.address}, pid ${node.pid}`}>{node.host}</td>
                      <td className="end">{node.worker === 0 ? "–" : node.worker}</td>
                      <td>{node.release}</td>
                      <td><Ago at={node.startedAt} /></td>
                      <td className="end">{count(node.version)}</td>
                      <td><Ago at={node.lastSeenAt} /></td>
                    </tr>
                  ))}
                </tbody>
              </Table>
            {nodes.length > 1 ? null : <p className="panel-body muted small">One process. Start more with the same DATABASE_URL and REDIS_URL, or several on this machine with GATEWAY_WORKERS.</p>}
          </Panel>
        )}
      </Loaded>
      <Loaded read={contract} what="What fails how">{(known) => <Degradation contract={known} />}</Loaded>
    </Page>
  )
}

export default Nodes
