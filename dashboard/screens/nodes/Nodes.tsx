import { Page } from "../../parts/Page.tsx"
const Nodes = () => <Page title="Nodes">x</Page>
export default Nodes
