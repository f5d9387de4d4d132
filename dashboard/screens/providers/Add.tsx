/** Stores a credential of a vendor, or of a server that speaks a known format. */
import { useId, useState } from "react"
import { call, Problem } from "../../api/call.ts"
import * as Notes from "../../api/notes.ts"
import { queryClient, useChange } from "../../api/query.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { Failure } from "../../parts/Feedback.tsx"
import { choicesOf, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Status } from "../../parts/Status.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"
import { Many } from "./Many.tsx"
import { NodeForm } from "./Node.tsx"
import { SignIn } from "./SignIn.tsx"
import { useVendors, vendorOfKey } from "./vendors.ts"

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
        <Button disabled={!known || apiKey === "" || probe === "asking"} onClick={() => void run(provider, apiKey.trim())}>Test the key</Button>
        {children(add.isPending || provider === "" || name === "")}
      </div>
    </Form>
  )
}

const SignInForm = ({ onDone }: { readonly onDone: () => void }) => {
  const vendors = useVendors().filter(({ signsIn }) => signsIn)
  const [chosen, setProvider] = useState("")
  const provider = chosen === "" ? vendors[0]?.id ?? "" : chosen
  return (
    <div className="stack">
      <SelectField label="Provider" value={provider} choices={choicesOf(vendors)} onChange={setProvider} />
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
        ? <VendorForm onAdded={onClose}>{(busy) => <Button type="submit" kind="primary" disabled={busy}>Add the connection</Button>}</VendorForm>
        : kind === "many" ? <Many /> : kind === "signIn" ? <SignInForm onDone={onClose} /> : <NodeForm node={null} onDone={onClose} />}
    </Dialog>
  )
}
