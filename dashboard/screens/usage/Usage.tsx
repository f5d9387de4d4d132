import { Page } from "../../parts/Page.tsx"
const Usage = () => <Page title="Usage">x</Page>
export default Usage
