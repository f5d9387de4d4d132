/** Servers of one's own: where each is, how many connections lead to it, and its record. */
import { useState } from "react"
import { useChange, useRead } from "../../api/query.ts"
import { count, counted } from "../../format/numbers.ts"
import { Button, IconButton } from "../../parts/Button.tsx"
import { Confirm, Dialog } from "../../parts/Dialog.tsx"
import { isOwned, Owned } from "../../parts/edit/Theirs.tsx"
import { Loaded } from "../../parts/Feedback.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Actions, Head, Table } from "../../parts/Table.tsx"
import { type Node, NodeForm, touchedByNodes } from "./Node.tsx"

const EVERY_MS = 10_000

const Delete = ({ node, onClose, used }: { readonly node: Node; readonly used: number; readonly onClose: () => void }) => {
  const remove = useChange("DELETE /api/provider-nodes/:id", touchedByNodes, onClose, { said: `The server ${node.name} is deleted.` })
  return (
    <Confirm
      title={`Delete ${node.name}?`} confirm="Delete the server" typed={used === 0 ? undefined : node.prefix} pending={remove.isPending} onClose={onClose} onConfirm={() => remove.mutate({ params: { id: node.id } })}
      failed="The server was not deleted" error={remove.error}
    >
      <p>Clients that ask for {node.prefix}/… are refused from then on.{used === 0 ? "" : ` ${counted(used, "connection goes", "connections go")} with it; the credentials are lost.`}</p>
    </Confirm>
  )
}

/** `usedOf`: how many connections lead to a server. */
export const Nodes = ({ usedOf }: { readonly usedOf: (id: string) => number }) => {
  const read = useRead("GET /api/provider-nodes", {}, { everyMs: EVERY_MS })
  const [open, setOpen] = useState<{ readonly what: "add" } | { readonly what: "edit" | "delete"; readonly node: Node } | null>(null)
  const close = (): void => setOpen(null)
  if (read.data?.nodes.length === 0) return null
  return (
    <Panel title="Servers of your own" actions={<Button kind="small" onClick={() => setOpen({ what: "add" })}>Add a server</Button>}>
      <Loaded read={read} what="The servers">
        {({ nodes }) => (
          <Table label="Servers of your own">
            <Head of={["Server", "Prefix", "Base URL", "Speaks", ">Connections", ""]} />
            <tbody>
              {nodes.map((node) => (
                <tr key={node.id}>
                  <td><strong className="wrap">{node.name}</strong> <Owned record={node} /></td><td className="mono">{node.prefix}</td><td className="wrap mono">{node.baseUrl}</td>
                  <td>{node.type === "openai-compatible" ? `OpenAI, ${node.apiType ?? "chat"}` : "Anthropic"}</td><td className="end">{count(usedOf(node.id))}</td>
                  <Actions>
                    <IconButton icon="edit" word="Edit" of={`the server ${node.name}`} onClick={() => setOpen({ what: "edit", node })} />
                    <IconButton icon="trash" word="Delete" of={`the server ${node.name}`} onClick={() => setOpen({ what: "delete", node })} disabled={isOwned(node)} />
                  </Actions>
                </tr>
              ))}
            </tbody>
          </Table>
        )}
      </Loaded>
      {open === null ? null : open.what === "delete" ? <Delete node={open.node} used={usedOf(open.node.id)} onClose={close} /> : (
        <Dialog title={open.what === "add" ? "Add a server" : `Edit the server ${open.node.name}`} wide onClose={close}><NodeForm node={open.what === "add" ? null : open.node} onDone={close} /></Dialog>
      )}
    </Panel>
  )
}
