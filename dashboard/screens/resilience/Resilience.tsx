import { Page } from "../../parts/Page.tsx"
const Resilience = () => <Page title="Resilience">x</Page>
export default Resilience
