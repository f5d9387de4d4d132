/** What operators prefer of the dashboard, as settings say it for all browsers. Pure, but for the hash of an image. */
import * as crypto from "node:crypto"
import * as InlineImage from "#schemas/words/InlineImage.ts"
import { comboModes, languages, screenNames, themes, type ComboMode, type ScreenName, type Theme } from "#schemas/words/Screens.ts"
import { escaped } from "#src/platform/pages/escaped.ts"

export interface Picture {
  /** Below `assets/`; it holds the hash of the bytes. */
  readonly name: string
  readonly type: string
  readonly bytes: Uint8Array
}

export interface Preferences {
  /** Where a browser chose none. */
  readonly theme: Theme
  readonly language: string
  /** Empty: the product's own name. */
  readonly instanceName: string
  readonly logo: Picture | null
  readonly favicon: Picture | null
  readonly hidden: ReadonlyArray<ScreenName>
  readonly comboConfigMode: ComboMode
}

const HASH_CHARACTERS = 16

const pictureOf = (kind: "logo" | "favicon", url: unknown): Picture | null => {
  const image = InlineImage.read(url)
  if (image === null) return null
  const bytes = Buffer.from(image.base64, "base64")
  return { name: `${kind}-${crypto.createHash("sha256").update(image.type).update(bytes).digest("hex").slice(0, HASH_CHARACTERS)}`, type: image.type, bytes }
}

/** The member of a list, or its first one. */
const oneOf = <A>(list: readonly [A, ...ReadonlyArray<A>], value: unknown): A => list.find((each) => each === value) ?? list[0]

export const read = (settings: ReadonlyMap<string, unknown>): Preferences => {
  const name = settings.get("instanceName")
  const hidden = settings.get("hiddenSidebarItems")
  return {
    theme: oneOf(themes, settings.get("theme")),
    language: oneOf(languages, settings.get("language")),
    instanceName: typeof name === "string" ? name.trim() : "",
    logo: pictureOf("logo", settings.get("customLogoUrl")),
    favicon: pictureOf("favicon", settings.get("customFaviconUrl")),
    hidden: Array.isArray(hidden) ? screenNames.filter((screen) => hidden.includes(screen)) : [],
    comboConfigMode: oneOf(comboModes, settings.get("comboConfigMode"))
  }
}

/** A browser's own choice goes before the setting. `system` follows the device, and is no attribute. */
const themeOf = (preferences: Preferences, cookies: Readonly<Record<string, string>>): string => {
  const own = themes.find((theme) => theme === cookies["gateway_theme"]) ?? preferences.theme
  return own === "system" ? "" : ` data-theme="${own}"`
}

/** The built page with them in it. */
export const put = (index: string, preferences: Preferences, cookies: Readonly<Record<string, string>>): string => {
  const { comboConfigMode, favicon, hidden, instanceName, language, logo } = preferences
  const told = JSON.stringify({ instanceName, logo: logo === null ? "" : `assets/${logo.name}`, hidden, comboConfigMode })
  const page = index
    .replace("<html lang=\"en\">", `<html lang="${language}"${themeOf(preferences, cookies)}>`)
    // A function: a name may hold what a text would be taken for a pattern by.
    .replace("<title>Gateway</title>", () => `<title>${instanceName === "" ? "Gateway" : escaped(instanceName)}</title>\n<meta name="preferences" content="${escaped(told)}">`)
  return favicon === null ? page : page.replace(/<link rel="icon"[^>]*>/, `<link rel="icon" href="./assets/${favicon.name}" type="${favicon.type}">`)
}
