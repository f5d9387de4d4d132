import { Page } from "../../parts/Page.tsx"
const Settings = () => <Page title="Settings">x</Page>
export default Settings
