/** What a conversation would be told now, and why; nothing is sent or counted. */
import { useState } from "react"
import { useEveryKey } from "../../api/everyKey.ts"
import { useChange } from "../../api/query.ts"
import { count, tokens } from "../../format/numbers.ts"
import { CodeBlock } from "../../parts/Copy.tsx"
import { Failure } from "../../parts/Feedback.tsx"
import { choicesOf, SelectField, TextField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"
import { NOBODY, nobody, ownerOf } from "./words.ts"

export const Told = () => {
  const keys = useEveryKey().data ?? []
  const [owner, setOwner] = useState(NOBODY)
  const [query, setQuery] = useState("")
  const [session, setSession] = useState("")
  const ask = useChange("POST /api/memory/retrieve-preview", [])
  return (
    <Panel title="What would a conversation be told?">
      <Form onSubmit={() => ask.mutate({ body: { apiKeyId: ownerOf(owner) ?? "", query, ...(session === "" ? {} : { sessionId: session }) } })}>
        <div className="grid-fields">
          <SelectField label="Caller" value={owner} choices={[nobody, ...choicesOf(keys)]} onChange={setOwner} />
          <TextField label="Its first message" value={query} onChange={setQuery} hint="It decides where not all fits" />
          <TextField label="In session" value={session} onChange={setSession} hint="Empty: in none" />
        </div>
        <div className="row"><Button type="submit" disabled={ask.isPending}>Find out</Button></div>
        <Failure what="It could not be found out" error={ask.error} />
        {ask.data === undefined || ask.error !== null ? null : (
          <>
            <p role="status">{ask.data.text === null ? "It would be told nothing." : `${count(ask.data.count)} of ${count(ask.data.memories.length)} entries are told: ${tokens(ask.data.totalTokens)} of ${tokens(ask.data.maxTokens)} tokens.`}</p>
            {ask.data.memories.length === 0 ? null : (
              <Table label="How entries are chosen">
                <Head of={[">Rank", "Name", "Told", ">Score", ">Tokens"]} />
                <tbody>
                  {ask.data.memories.map(({ included, memory, rank, score, tokens: size }) => (
                    <tr key={memory.id}><td className="end">{count(rank)}</td><td className="cut" title={memory.content}>{memory.key}</td><td><Status tone={included ? "ok" : "skip"} word={included ? "Yes" : "No room"} /></td><td className="end">{score.toFixed(3)}</td><td className="end">{count(size)}</td></tr>
                  ))}
                </tbody>
              </Table>
            )}
            {ask.data.text === null ? null : <CodeBlock label="text" text={ask.data.text} />}
          </>
        )}
      </Form>
    </Panel>
  )
}
