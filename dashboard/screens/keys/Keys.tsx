import { Page } from "../../parts/Page.tsx"
const Keys = () => <Page title="Keys">x</Page>
export default Keys
