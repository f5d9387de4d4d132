import { Page } from "../../parts/Page.tsx"
const Request = () => <Page title="Request">x</Page>
export default Request
