/** What operators prefer of the page for all browsers: as the gateway wrote it into the page, then as the settings say. */
import type { ScreenName } from "#src/features/settings/api.ts"
import { useRead } from "./query.ts"

interface Preferences {
  /** How this gateway is called. */
  readonly instanceName: string
  /** Address of a picture; empty: the product's own. */
  readonly logo: string
  readonly hidden: ReadonlyArray<ScreenName>
  readonly comboConfigMode: string
}

const NAME = "Gateway"

const told = JSON.parse(document.querySelector<HTMLMetaElement>("meta[name=preferences]")?.content ?? "{}") as Partial<Preferences>

const word = (value: unknown): string => typeof value === "string" ? value.trim() : ""

export const instanceName = (): string => word(told.instanceName) || NAME

/** The settings are not asked for: once a screen has read them, they go before what the page came with. */
export const usePreferences = (): Preferences => {
  const { data } = useRead("GET /api/settings", {}, { enabled: false })
  if (data === undefined) return { instanceName: instanceName(), logo: told.logo ?? "", hidden: told.hidden ?? [], comboConfigMode: told.comboConfigMode ?? "" }
  return {
    instanceName: word(data["instanceName"]) || NAME, logo: word(data["customLogoUrl"]), hidden: (data["hiddenSidebarItems"] ?? []) as ReadonlyArray<ScreenName>, comboConfigMode: word(data["comboConfigMode"])
  }
}
