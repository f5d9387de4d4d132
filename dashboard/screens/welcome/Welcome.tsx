/** First steps: a stream before any key exists, then a provider, then a key for clients. Each step can be left out. */
import { Link } from "@tanstack/react-router"
import { type ReactNode, useState } from "react"
import { useChange, useRead } from "../../api/query.ts"
import { gatewayAddress } from "../../app/place.ts"
import { duration } from "../../format/numbers.ts"
import { CodeBlock } from "../../parts/Copy.tsx"
import { Failure } from "../../parts/Feedback.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Page } from "../../parts/Page.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"
import { Outcome } from "../play/Outcome.tsx"
import { useStream } from "../play/useStream.ts"
import { VendorForm } from "../providers/Add.tsx"
import { clients, type ClientName } from "./clients.ts"

const Step = ({ children, done, number, title }: { readonly number: number; readonly title: string; readonly done: boolean; readonly children: ReactNode }) => (
  <li className={`panel step${done ? " step-done" : ""}`}>
    <span className="step-mark" aria-hidden="true">{done ? <Icon name="check" size={16} /> : number}</span>
    <div className="step-body">
      <h2>{title}{done ? <span className="hidden-text"> (done)</span> : null}</h2>
      {children}
    </div>
  </li>
)

const question = "What does this gateway do for me?"

const FirstStream = ({ model, onDone }: { readonly model: string; readonly onDone: () => void }) => {
  const { run, start } = useStream()
  const ask = (): void => void start("chat-completions", { model, prompt: question, system: "", maxTokens: null, temperature: null }, "").then(onDone)
  return (
    <>
      <p className="muted">The built-in simulator answers as <code>{model}</code>: no account, no key, no cost.</p>
      <div className="row">
        <Button kind="primary" disabled={run?.state === "streaming"} onClick={ask}><Icon name="play" size={16} />{run === null ? "Ask it" : "Ask again"}</Button>
        {run?.state === "done" ? <span className="muted small number">first token after {duration(run.firstMs)}, done after {duration(run.totalMs)}</span> : null}
      </div>
      {run === null ? null : run.error === null ? <div className={`well answer${run.state === "streaming" ? " cursor" : ""}`} role="log" aria-label="Answer of the simulator">{run.text}</div> : (
        <>
          <Failure what="The simulator did not answer" error={run.error} />
          {run.status === 401 ? <p>This gateway requires a key of its clients. Go on with step 3, or ask in the <Link to="/play">playground</Link> with a key.</p> : null}
        </>
      )}
      {run?.state === "done" && run.requestId !== null ? <section aria-label="What it cost"><Outcome requestId={run.requestId} /></section> : null}
    </>
  )
}

const ClientKey = ({ model, onDone }: { readonly model: string; readonly onDone: () => void }) => {
  const [name, setName] = useState("my app")
  const [client, setClient] = useState<ClientName>("curl")
  const make = useChange("POST /api/keys", ["GET /api/keys"], onDone)
  if (make.data === undefined) {
    return (
      <Form className="stack" onSubmit={() => make.mutate({ body: { name } })}>
        <p className="muted">Your programs send it instead of the vendor’s key. You can bound it by models, money and time under <Link to="/keys">Keys &amp; budgets</Link>.</p>
        <TextField label="Name of the key" value={name} onChange={setName} required />
        <Failure what="No key was made" error={make.error} />
        <div className="row"><Button type="submit" kind="primary" disabled={make.isPending || name === ""}>Make the key</Button></div>
      </Form>
    )
  }
  return (
    <div className="stack">
      <p className="success">The key is shown this once. Copy it now.</p>
      <CodeBlock label="key" text={make.data.key} />
      <SelectField label="Use it with" value={client} choices={Object.entries(clients).map(([value, { word }]) => ({ value, word }))} onChange={(value) => setClient(value as ClientName)} />
      <CodeBlock label={clients[client].word} text={clients[client].lines({ url: gatewayAddress, key: make.data.key, model })} />
    </div>
  )
}

const Welcome = () => {
  const connections = useRead("GET /api/providers")
  const [streamed, setStreamed] = useState(false)
  const [added, setAdded] = useState<string | null>(null)
  const [keyed, setKeyed] = useState(false)
  const has = (connections.data?.connections.length ?? 0) > 0
  return (
    <Page title="First steps" lead="A stream in a minute. Do the steps in any order; each can be left out." actions={<Link to="/" className="button">To the overview</Link>}>
      <ol className="steps">
        <Step number={1} title="Stream an answer" done={streamed}><FirstStream model="sim/echo" onDone={() => setStreamed(true)} /></Step>
        <Step number={2} title="Add a provider" done={has}>
          {added === null ? null : <p className="success" role="status">The connection {added} is stored. Its models can be called now.</p>}
          {has && added === null ? <p className="muted">{connections.data?.connections.length} connections are stored. <Link to="/providers">See them</Link>.</p> : null}
          {added === null && !has ? <VendorForm onAdded={setAdded}>{(busy) => <Button type="submit" kind="primary" disabled={busy}>Add the connection</Button>}</VendorForm> : null}
        </Step>
        <Step number={3} title="Make a key for your programs" done={keyed}><ClientKey model="sim/echo" onDone={() => setKeyed(true)} /></Step>
        <Step number={4} title="See what happened" done={false}>
          <p className="muted">Each call to a provider leaves one row: who answered, how long it took, what it cost.</p>
          <div className="row"><Link to="/requests" className="button">Open the requests</Link></div>
        </Step>
      </ol>
    </Page>
  )
}

export default Welcome
