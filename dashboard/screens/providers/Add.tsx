/** Stores a credential of a vendor, or of a server that speaks a known format. */
import { useId, useState } from "react"
import { call, Problem } from "../../api/call.ts"
import * as Notes from "../../api/notes.ts"
import { queryClient, useChange } from "../../api/query.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { Failure } from "../../parts/Feedback.tsx"
import { SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Status } from "../../parts/Status.tsx"
import { Many } from "./Many.tsx"
import { SignIn } from "./SignIn.tsx"
import { useVendors, vendorOfKey } from "./vendors.ts"
import { Submit } from "../../parts/edit/Submit.tsx"
import { Form } from "../../parts/edit/Form.tsx"

interface Probe {
  readonly valid: boolean
  readonly text: string
}

/** Asks the vendor whether it takes the key, without storing it. */
const useProbe = () => {
  const [probe, setProbe] = useState<Probe | "asking" | null>(null)
  return {
    probe,
    forget: () => setProbe(null),
    run: async (provider: string, apiKey: string): Promise<void> => {
      setProbe("asking")
      try {
        const { error, valid, warning } = await call("POST /api/providers/validate", { body: { provider, apiKey } })
        setProbe({ valid, text: valid ? warning ?? "The provider takes this key." : error ?? "The provider refuses this key." })
      } catch (error) {
        setProbe({ valid: false, text: error instanceof Problem ? error.message : "The key could not be tested." })
      }
    }
  }
}

/** Whoever stores a credential wants to know whether it works: the answer comes as a note, and stands in the list. */
const testAtOnce = async ({ id, name }: { readonly id: string; readonly name: string }): Promise<void> => {
  try {
    const { diagnosis, error, valid } = await call("POST /api/providers/:id/test", { params: { id } })
    Notes.tell(valid ? `${name} is stored, and works.` : `${name} is stored, but its test failed: ${diagnosis?.message ?? error ?? "no reason was given"}`, { isBad: !valid })
  } catch (error) {
    Notes.tell(`${name} is stored, but could not be tested: ${error instanceof Error ? error.message : String(error)}`, { isBad: true })
  }
  await queryClient.invalidateQueries({ queryKey: ["GET /api/providers"] })
}

export const VendorForm = ({ children, onAdded }: { readonly onAdded: (name: string) => void; readonly children: (busy: boolean) => React.ReactNode }) => {
  const vendors = useVendors()
  const list = useId()
  const [apiKey, setKey] = useState("")
  /** Null: as the key tells, also when the vendors are known only after it was pasted. */
  const [chosen, setProvider] = useState<string | null>(null)
  const provider = chosen ?? vendorOfKey(apiKey, vendors) ?? ""
  const [name, setName] = useState("main")
  const { forget, probe, run } = useProbe()
  const add = useChange("POST /api/providers", ["GET /api/providers", "GET /api/providers/client"], ({ connection }) => {
    onAdded(connection.name)
    void testAtOnce(connection)
  })
  const known = vendors.some(({ id }) => id === provider)
  const changeKey = (value: string): void => {
    setKey(value)
    forget()
    setProvider(vendorOfKey(value, vendors) !== null ? null : vendors.length === 0 ? chosen : provider)
  }
  return (
    <Form className="stack" onSubmit={() => add.mutate({ body: { provider, name, ...(apiKey === "" ? {} : { apiKey: apiKey.trim() }) } })}>
      <TextField label="API key" type="password" value={apiKey} onChange={changeKey} hint="Most vendors are recognised by the first characters of their keys." wrong={wrongWith(add.error, "apiKey")} />
      <div className="grid-fields">
        <TextField
          label="Provider" value={provider} list={list} required
          onChange={(value) => {
            setProvider(value)
            forget()
          }}
          hint={known ? vendors.find(({ id }) => id === provider)?.name : "A name from the list, such as openai"} wrong={wrongWith(add.error, "provider")}
        />
        <TextField label="Name" value={name} onChange={setName} required hint="How you call this credential" wrong={wrongWith(add.error, "name")} />
      </div>
      <datalist id={list}>{vendors.map((vendor) => <option key={vendor.id} value={vendor.id}>{vendor.name}</option>)}</datalist>
      <div aria-live="polite">
        {probe === null ? null : probe === "asking" ? <Status tone="info" word="Asking the provider" /> : <p className="wrap"><Status tone={probe.valid ? "ok" : "bad"} word={probe.valid ? "Valid" : "Refused"} /> <span className="small">{probe.text}</span></p>}
      </div>
      <Failure what="The connection was not stored" error={add.error} />
      <div className="dialog-foot">
        <button type="button" className="button" disabled={!known || apiKey === "" || probe === "asking"} onClick={() => void run(provider, apiKey.trim())}>Test the key</button>
        {children(add.isPending || provider === "" || name === "")}
      </div>
    </Form>
  )
}

const apiTypes = [
  { value: "chat", word: "Chat completions" }, { value: "responses", word: "Responses" }
]

const NodeForm = ({ onDone }: { readonly onDone: () => void }) => {
  const [name, setName] = useState("")
  const [prefix, setPrefix] = useState("")
  const [baseUrl, setBaseUrl] = useState("")
  const [apiKey, setKey] = useState("")
  const [type, setType] = useState<"openai-compatible" | "anthropic-compatible">("openai-compatible")
  const [apiType, setApiType] = useState("chat")
  const add = useChange("POST /api/provider-nodes", ["GET /api/providers", "GET /api/provider-nodes", "GET /api/providers/client"], onDone)
  return (
    <Form className="stack" onSubmit={() => {
      add.mutate({
        body: {
          type, name, prefix, baseUrl, apiKey: apiKey === "" ? null : apiKey, ...(type === "openai-compatible" ? { apiType: apiType === "responses" ? "responses" : "chat" } : {})
        }
      })
    }}>
      <div className="grid-fields">
        <SelectField
          label="It speaks" value={type} onChange={(value) => setType(value === "anthropic-compatible" ? value : "openai-compatible")}
          choices={[{ value: "openai-compatible", word: "The OpenAI format" }, { value: "anthropic-compatible", word: "The Anthropic format" }]}
        />
        {type === "openai-compatible" ? <SelectField label="With" value={apiType} choices={apiTypes} onChange={setApiType} /> : null}
      </div>
      <TextField label="Base URL" value={baseUrl} onChange={setBaseUrl} required placeholder="http://127.0.0.1:8000/v1" wrong={wrongWith(add.error, "baseUrl")} />
      <div className="grid-fields">
        <TextField label="Name" value={name} onChange={setName} required wrong={wrongWith(add.error, "name")} />
        <TextField label="Prefix" value={prefix} onChange={setPrefix} required hint={`Its models are called ${prefix === "" ? "prefix" : prefix}/model`} wrong={wrongWith(add.error, "prefix")} />
      </div>
      <TextField label="API key" type="password" value={apiKey} onChange={setKey} hint="Empty for a server that asks for none" wrong={wrongWith(add.error, "apiKey")} />
      <Submit failed="The server was not stored" of={add}>Add the server</Submit>
    </Form>
  )
}

const SignInForm = ({ onDone }: { readonly onDone: () => void }) => {
  const vendors = useVendors().filter(({ signsIn }) => signsIn)
  const [chosen, setProvider] = useState("")
  const provider = chosen === "" ? vendors[0]?.id ?? "" : chosen
  return (
    <div className="stack">
      <SelectField label="Provider" value={provider} choices={vendors.map(({ id, name }) => ({ value: id, word: name }))} onChange={setProvider} />
      {provider === "" ? null : <SignIn key={provider} provider={provider} onDone={onDone} />}
    </div>
  )
}

export const Add = ({ onClose }: { readonly onClose: () => void }) => {
  const [kind, setKind] = useState("vendor")
  return (
    <Dialog title="Add a connection" wide={kind === "many"} onClose={onClose}>
      <SelectField label="What" value={kind} choices={[{ value: "vendor", word: "A key of a vendor" }, { value: "many", word: "Many keys at once" }, { value: "signIn", word: "An account: sign in" }, { value: "node", word: "A server of your own" }]} onChange={setKind} />
      {kind === "vendor"
        ? <VendorForm onAdded={onClose}>{(busy) => <button type="submit" className="button button-primary" disabled={busy}>Add the connection</button>}</VendorForm>
        : kind === "many" ? <Many /> : kind === "signIn" ? <SignInForm onDone={onClose} /> : <NodeForm onDone={onClose} />}
    </Dialog>
  )
}
