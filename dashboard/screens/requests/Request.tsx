/** One request on a page of its own. */
import { Link, useParams } from "@tanstack/react-router"
import { useRead } from "../../api/query.ts"
import { Copy } from "../../parts/Copy.tsx"
import { Loaded } from "../../parts/Feedback.tsx"
import { Page } from "../../parts/Page.tsx"
import { Details } from "./Details.tsx"

const Request = () => {
  const { id } = useParams({ from: "/requests/$id" })
  const read = useRead("GET /api/usage/call-logs/:id", { params: { id } })
  return (
    <Page title="Request" lead={<><Link to="/requests">Requests</Link> / <Copy value={id} most={40} /></>}>
      <Loaded read={read} what="This request" rows={6}>{(log) => <Details log={log} />}</Loaded>
    </Page>
  )
}

export default Request
