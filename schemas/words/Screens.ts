/** Screens of the dashboard by the names that settings and addresses give them; `overview` is the first one. */
export const screenNames = [
  "overview", "now", "requests", "usage", "resilience", "providers", "models", "combos", "cache", "proxies", "compression", "prompts", "tasks", "rules", "keys", "limits", "leases", "webhooks", "guardrails",
  "addresses", "agents", "memory", "skills", "plugins", "evals", "work", "search", "play", "settings", "nodes", "audit", "backups", "sync", "tunnels"
] as const
export type ScreenName = typeof screenNames[number]

/** Languages that the dashboard speaks. */
export const languages = ["en"] as const

export const themes = ["system", "light", "dark"] as const
export type Theme = typeof themes[number]

export const comboModes = ["guided", "expert"] as const
export type ComboMode = typeof comboModes[number]
