/** What agents find here: tools over MCP, and tasks over the Agent2Agent protocol. */
import { Page } from "../../parts/Page.tsx"
import { A2a } from "./A2a.tsx"
import { Audit } from "./Audit.tsx"
import { Mcp } from "./Mcp.tsx"
import { Servers } from "./Servers.tsx"

const Agents = () => (
  <Page title="MCP & A2A" lead="Agents call the gateway's tools over MCP, and give it tasks over the Agent2Agent protocol.">
    <Mcp />
    <Servers />
    <Audit />
    <A2a />
  </Page>
)

export default Agents
