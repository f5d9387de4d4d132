/** What rests, why, and until when; and the way to end it. */
import { useState } from "react"
import { useSkew } from "../../api/clock.ts"
import { useChange, useRead } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { Confirm } from "../../parts/Dialog.tsx"
import { Empty, Failure, Loaded } from "../../parts/Feedback.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status, type Tone } from "../../parts/Status.tsx"
import { Ago, Countdown } from "../../parts/Time.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Button } from "../../parts/Button.tsx"
import { FireDrill } from "./Drill.tsx"
import { Healing } from "./Healing.tsx"

const EVERY_MS = 2_000

const breakerStates: Readonly<Record<"closed" | "degraded" | "open" | "half-open", { readonly tone: Tone; readonly word: string; readonly shape?: string }>> = {
  closed: { tone: "ok", word: "Closed" },
  degraded: { tone: "warn", word: "Degraded" },
  open: { tone: "bad", word: "Open", shape: "■" },
  "half-open": { tone: "info", word: "Trying" }
}

const Breakers = () => {
  const skew = useSkew()
  const read = useRead("GET /api/resilience", {}, { everyMs: EVERY_MS })
  const [asking, setAsking] = useState(false)
  const reset = useChange("POST /api/resilience/reset", ["GET /api/resilience"], () => setAsking(false))
  return (
    <Panel title="Breakers of this node" actions={<Button kind="small" onClick={() => setAsking(true)}>Close all</Button>}>
      <Loaded read={read} what="The breakers">
        {({ breakers }) => breakers.length === 0 ? <Empty icon="resilience" title="No breaker has counted a failure">A breaker opens when a provider fails several times in a row, and lets one request try after a while.</Empty> : (
          <Table label="Breakers">
              <Head of={["Provider", "State", "Refuses", ">Failures", "Last failure", "Tries again in", ""]} />
              <tbody>
                {breakers.map((breaker) => (
                  <tr key={`${breaker.provider} ${breaker.model ?? ""}`}>
                    <td className="cut" title={breaker.provider}>{breaker.provider}</td>
                    <td><Status {...breakerStates[breaker.state]} /></td>
                    <td className="cut">{breaker.state !== "open" ? "nothing" : breaker.model ?? "all models"}</td>
                    <td className="end">{count(breaker.failures)}</td>
                    <td><Ago at={breaker.lastFailure} /></td>
                    <td>{breaker.retryAfterMs > 0 ? <Countdown until={new Date(read.dataUpdatedAt + skew + breaker.retryAfterMs).toISOString()} /> : "–"}</td>
                    <td className="actions"><Button kind="small" disabled={reset.isPending} onClick={() => reset.mutate({ body: { provider: breaker.provider } })} aria-label={`Close the breaker of ${breaker.provider}`}>Close</Button></td>
                  </tr>
                ))}
              </tbody>
            </Table>
        )}
      </Loaded>
      {asking ? (
        <Confirm title="Close all breakers?" confirm="Close all" pending={reset.isPending} onClose={() => setAsking(false)} onConfirm={() => reset.mutate({ body: {} })} failed="The breakers were not closed" error={reset.error}>
          <p>Providers that still fail get requests again, until their breakers open anew.</p>
        </Confirm>
      ) : null}
    </Panel>
  )
}

const Lockouts = () => {
  const read = useRead("GET /api/resilience/model-cooldowns", {}, { everyMs: EVERY_MS })
  const clear = useChange("DELETE /api/resilience/model-cooldowns", ["GET /api/resilience/model-cooldowns"])
  return (
    <Panel title="Models that are locked out" actions={(read.data?.count ?? 0) > 0 ? <Button kind="small" disabled={clear.isPending} onClick={() => clear.mutate({ body: { all: true } })}>End all</Button> : null}>
      <Failure what="The lockout was not ended" error={clear.error} inPanel />
      <Loaded read={read} what="The lockouts">
        {({ items }) => items.length === 0 ? <Empty icon="check" title="No model is locked out" /> : (
          <Table label="Lockouts">
              <Head of={["Model", "Why", ">Failures", "Ends in", ""]} />
              <tbody>
                {items.map((item) => (
                  <tr key={`${item.provider} ${item.model} ${item.connectionId ?? ""}`}>
                    <td className="cut" title={`${item.provider}/${item.model}`}>{item.provider}/{item.model}</td>
                    <td className="wrap">{item.reason}</td>
                    <td className="end">{count(item.failureCount)}</td>
                    <td><Countdown until={item.until} /></td>
                    <td className="actions">
                      <Button kind="small" disabled={clear.isPending} aria-label={`End the lockout of ${item.provider}/${item.model}`}
                        onClick={() => clear.mutate({ body: { provider: item.provider, model: item.model, ...(item.connectionId === null ? {} : { connection: item.connectionId }) } })}>End</Button>
                    </td>
                  </tr>
                ))}
              </tbody>
            </Table>
        )}
      </Loaded>
    </Panel>
  )
}

const Places = () => {
  const read = useRead("GET /api/rate-limits", {}, { everyMs: EVERY_MS })
  return (
    <Panel title="Connections">
      <Loaded read={read} what="The connections">
        {({ connections }) => connections.length === 0 ? <Empty icon="providers" title="No connection yet" /> : (
          <Table label="Connections">
              <Head of={["Connection", "Provider", "State", ">Running", ">Waiting", ">Cap"]} />
              <tbody>
                {connections.map((place) => (
                  <tr key={place.connectionId}>
                    <td className="cut" title={place.name}>{place.name}</td>
                    <td className="cut">{place.provider}</td>
                    <td>
                      {place.reason === null && place.rateLimitedUntil === null ? <Status tone="ok" word="Free" /> : (
                        <span className="row"><Status tone="info" word="Rests" title={place.reason ?? undefined} />{place.rateLimitedUntil === null ? null : <Countdown until={place.rateLimitedUntil} />}<span className="small muted wrap">{place.reason ?? ""}</span></span>
                      )}
                    </td>
                    <td className="end">{count(place.running)}</td>
                    <td className="end">{count(place.queued)}</td>
                    <td className="end">{place.maxConcurrent === null ? "none" : count(place.maxConcurrent)}</td>
                  </tr>
                ))}
              </tbody>
            </Table>
        )}
      </Loaded>
    </Panel>
  )
}

const Resilience = () => (
  <Page title="Resilience" lead="What rests after failures, why, and when it is asked again. Everything here heals by itself.">
    <Healing />
    <Breakers />
    <Lockouts />
    <Places />
    <FireDrill />
  </Page>
)

export default Resilience
