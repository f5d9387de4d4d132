import { Page } from "../../parts/Page.tsx"
const Combos = () => <Page title="Combos">x</Page>
export default Combos
