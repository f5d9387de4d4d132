/** The theme that a person chose. A cookie keeps it, so that the server's page already has it and nothing flashes. */
import { useState } from "react"
import { basePath } from "./place.ts"

export const themes = ["system", "light", "dark"] as const
export type Theme = typeof themes[number]

const COOKIE = "gateway_theme"
const KEPT_S = 31_536_000

const current = (): Theme => {
  const given = document.documentElement.dataset["theme"]
  return given === "light" || given === "dark" ? given : "system"
}

const apply = (theme: Theme): void => {
  if (theme === "system") delete document.documentElement.dataset["theme"]
  else document.documentElement.dataset["theme"] = theme
  // Kept for the device's own look, too: a setting may say another one for browsers that chose none.
  document.cookie = `${COOKIE}=${theme}; path=${basePath}; max-age=${KEPT_S}; samesite=lax`
}

export const useTheme = (): readonly [Theme, () => void] => {
  const [theme, setTheme] = useState(current)
  return [theme, () => {
    const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? "system"
    apply(next)
    setTheme(next)
  }]
}
