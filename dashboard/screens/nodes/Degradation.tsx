/** What each feature does while a server fails: the contract, not the state. One fault at a time, as it is met. */
import { useState } from "react"
import type { Answer } from "../../api/contract.ts"
import { duration } from "../../format/numbers.ts"
import { SelectField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status, type Tone } from "../../parts/Status.tsx"
import { Head, Table } from "../../parts/Table.tsx"

type Contract = Answer<"GET /api/health/degradation">
type Outcome = Contract["features"][number]["effects"][Contract["faults"][number]]["outcome"]

const outcomes: Readonly<Record<Outcome, { readonly tone: Tone; readonly word: string }>> = {
  admitted: { tone: "ok", word: "goes on" }, queued: { tone: "info", word: "kept for later" }, denied: { tone: "bad", word: "refused" }
}

export const Degradation = ({ contract: { combined, faults, features } }: { readonly contract: Contract }) => {
  const [fault, setFault] = useState<Contract["faults"][number]>("postgres-refused")
  return (
    <Panel
      title="What each feature does while a server fails"
      actions={<SelectField label="Fault" value={fault} choices={faults.map((value) => ({ value, word: value.replaceAll("-", " ") }))} onChange={setFault} />}
    >
      <Table label="What each feature does">
        <Head of={["Feature", "What asks for it", ">Acts on what is up to", ">A request loses up to", "How"]} />
        <tbody>
          {features.map(({ effects, feature }) => {
            const { addedLatencyMs, note, outcome, stalenessMs } = effects[fault]
            return (
              <tr key={feature}>
                <td>{feature}</td>
                <td><Status {...outcomes[outcome]} /></td>
                <td className="end">{stalenessMs === null ? "as old as the fault" : `${duration(stalenessMs)} old`}</td>
                <td className="end">{addedLatencyMs === null ? "its own deadline" : duration(addedLatencyMs)}</td>
                <td className="wrap small">{note}</td>
              </tr>
            )
          })}
        </tbody>
      </Table>
      <p className="panel-body muted small">{combined}</p>
    </Panel>
  )
}
