/** A look at one request beside the list. */
import { Link } from "@tanstack/react-router"
import { useRead } from "../../api/query.ts"
import { Loaded } from "../../parts/Feedback.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Button } from "../../parts/Button.tsx"
import { Details } from "./Details.tsx"

export const Drawer = ({ id, onClose, onMove }: { readonly id: string; readonly onClose: () => void; readonly onMove: (by: -1 | 1) => void }) => {
  const read = useRead("GET /api/usage/call-logs/:id", { params: { id } })
  return (
    <section className="panel drawer" aria-label="Request">
      <div className="panel-head">
        <h2>Request</h2>
        <div className="row">
          <Button kind="small icon" aria-label="Previous request" title="K" onClick={() => onMove(-1)}><Icon name="up" size={16} /></Button>
          <Button kind="small icon" aria-label="Next request" title="J" onClick={() => onMove(1)}><Icon name="down" size={16} /></Button>
          <Link className="button button-small" to="/requests/$id" params={{ id: read.data?.requestId ?? id }}>Open</Link>
          <Button kind="small quiet icon" aria-label="Close the request" title="Esc" onClick={onClose}><Icon name="close" size={16} /></Button>
        </div>
      </div>
      <div className="panel-body"><Loaded read={read} what="This request" rows={6}>{(log) => <Details log={log} />}</Loaded></div>
    </section>
  )
}
