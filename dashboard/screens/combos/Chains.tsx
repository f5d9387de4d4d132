/** Providers that serve a model id without a provider, in their order. */
import { useId, useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { Lines } from "../../parts/edit/Lines.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { Empty, Failure, Loaded } from "../../parts/Feedback.tsx"
import { TextField, wrongWith } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Actions, Head, Table } from "../../parts/Table.tsx"
import { useShownProvider, useVendors } from "../providers/vendors.ts"
import { Submit } from "../../parts/edit/Submit.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"

type Chain = Answer<"GET /api/fallback/chains">["chains"][number]

const touched = ["GET /api/fallback/chains"] as const
const used = [{ value: "yes", word: "is asked" }, { value: "no", word: "is left out" }]

/** `chain`: null for a new one. */
const Edit = ({ chain, onClose }: { readonly chain: Chain | null; readonly onClose: () => void }) => {
  const list = useId()
  const vendors = useVendors()
  const shownProvider = useShownProvider()
  const [model, setModel] = useState(chain?.model ?? "")
  const [lines, setLines] = useState<ReadonlyArray<ReadonlyArray<string>>>(() => chain === null ? [["", "yes"]] : chain.chain.map(({ enabled, provider }) => [shownProvider(provider), enabled ? "yes" : "no"]))
  const save = useChange("POST /api/fallback/chains", touched, onClose, {
    said: ({ model: name }) => `The chain of ${name} is stored.`,
    undo: ({ model: name }) => chain === null ? () => call("DELETE /api/fallback/chains", { body: { model: name } }) : () => call("POST /api/fallback/chains", { body: chain })
  })
  const links = lines.filter(([provider = ""]) => provider.trim() !== "").map(([provider = "", asked], index) => ({ provider: provider.trim(), priority: index + 1, enabled: asked !== "no" }))
  return (
    <Dialog title={chain === null ? "New fallback chain" : `Chain of ${chain.model}`} onClose={onClose} onSubmit={() => save.mutate({ body: { model: model.trim(), chain: links } })}>
      {chain === null ? <TextField label="Model id without a provider" value={model} onChange={setModel} required placeholder="gpt-5" hint="A chain that it has is replaced" wrong={wrongWith(save.error, "model")} /> : null}
      <Lines label="Providers, the first is asked first" one="provider" lines={lines} onLines={setLines} columns={[{ word: "Provider", list: list }, { word: "Use", choices: used }]} wrong={wrongWith(save.error, "chain")} />
      <datalist id={list}>{vendors.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}</datalist>
      <Submit failed="The chain was not stored" of={save} isOff={model.trim() === "" || links.length === 0} onClose={onClose} />
    </Dialog>
  )
}

export const Chains = () => {
  const read = useRead("GET /api/fallback/chains")
  const shownProvider = useShownProvider()
  const [open, setOpen] = useState<{ readonly chain: Chain | null } | null>(null)
  const remove = useChange("DELETE /api/fallback/chains", touched, undefined, {
    said: "The chain is removed.",
    undo: (_, { body }) => {
      const gone = read.data?.chains.find(({ model }) => model === body?.model)
      return gone === undefined ? null : () => call("POST /api/fallback/chains", { body: gone })
    }
  })
  return (
    <Panel title="Fallback chains" actions={<Button kind="small" onClick={() => setOpen({ chain: null })}>New fallback chain</Button>}>
      <Failure what="The chain was not removed" error={remove.error} inPanel />
      <Loaded read={read} what="The fallback chains" rows={1}>
        {({ chains }) => chains.length === 0 ? <Empty icon="combos" title="No chain yet">Say which providers serve a model id that clients ask for without one, and in which order.</Empty> : (
          <Table label="Fallback chains">
            <Head of={["Model", "Providers", ""]} />
            <tbody>
              {chains.map((chain) => (
                <tr key={chain.model}>
                  <td className="cut" title={chain.model}>{chain.model}</td><td><div className="wrap">{chain.chain.map(({ enabled, provider }) => enabled ? shownProvider(provider) : `(${shownProvider(provider)})`).join(" → ")}</div></td>
                  <Actions>
                    <IconButton icon="edit" word="Edit" of={`the chain of ${chain.model}`} onClick={() => setOpen({ chain })} />
                    <IconButton icon="trash" word="Delete" of={`the chain of ${chain.model}`} disabled={remove.isPending} onClick={() => remove.mutate({ body: { model: chain.model } })} />
                  </Actions>
                </tr>
              ))}
            </tbody>
          </Table>
        )}
      </Loaded>
      {open === null ? null : <Edit chain={open.chain} onClose={() => setOpen(null)} />}
    </Panel>
  )
}
