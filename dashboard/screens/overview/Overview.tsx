import { Page } from "../../parts/Page.tsx"
const Overview = () => <Page title="Overview">x</Page>
export default Overview
