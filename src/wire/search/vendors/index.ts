/** The vendors of searches by the id of their provider. */
import type { TargetFamily } from "#schemas/wire/formats.ts"
import type { SearchVendor } from "#src/wire/search/SearchVendor.ts"
import { brave } from "./brave.ts"
import { exa } from "./exa.ts"
import { googlePse } from "./googlePse.ts"
import { linkup } from "./linkup.ts"
import { ollama } from "./ollama.ts"
import { perplexity } from "./perplexity.ts"
import { searchApi } from "./searchApi.ts"
import { searxng } from "./searxng.ts"
import { serper } from "./serper.ts"
import { tavily } from "./tavily.ts"
import { youcom } from "./youcom.ts"
import { zai } from "./zai.ts"

const vendors: ReadonlyMap<string, SearchVendor> = new Map([
  ["serper-search", serper], ["brave-search", brave], ["perplexity-search", perplexity], ["exa-search", exa], ["tavily-search", tavily], ["google-pse-search", googlePse],
  ["linkup-search", linkup], ["ollama-search", ollama], ["searchapi-search", searchApi], ["youcom-search", youcom], ["searxng-search", searxng], ["zai-search", zai]
])

/** Null for a provider that searches nothing. */
export const ofProvider = (provider: string): SearchVendor | null => vendors.get(provider) ?? null

/** Null for a family that is no vendor's. */
export const ofFamily = (family: TargetFamily): SearchVendor | null => family.startsWith("search/") ? ofProvider(family.slice("search/".length)) : null
