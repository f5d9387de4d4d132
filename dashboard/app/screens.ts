/** The screens in the rail, by area. The palette and the shell read this one table. */
import type { IconName } from "../parts/Icon.tsx"

export interface Screen {
  readonly path: "/" | "/requests" | "/usage" | "/resilience" | "/providers" | "/models" | "/combos" | "/keys" | "/play" | "/settings" | "/nodes" | "/audit" | "/webhooks" | "/welcome"
  readonly word: string
  readonly icon: IconName
  /** After `g`. */
  readonly key: string
}

export const areas: ReadonlyArray<{ readonly word: string; readonly screens: ReadonlyArray<Screen> }> = [
  {
    word: "Observe",
    screens: [
      { path: "/", word: "Overview", icon: "overview", key: "o" },
      { path: "/requests", word: "Requests", icon: "requests", key: "r" },
      { path: "/usage", word: "Usage & cost", icon: "usage", key: "u" },
      { path: "/resilience", word: "Resilience", icon: "resilience", key: "b" }
    ]
  },
  {
    word: "Route",
    screens: [
      { path: "/providers", word: "Providers", icon: "providers", key: "p" },
      { path: "/models", word: "Models & prices", icon: "models", key: "m" },
      { path: "/combos", word: "Combos", icon: "combos", key: "c" }
    ]
  },
  {
    word: "Access",
    screens: [
      { path: "/keys", word: "Keys & budgets", icon: "keys", key: "k" },
      { path: "/webhooks", word: "Webhooks", icon: "webhooks", key: "w" }
    ]
  },
  {
    word: "Run",
    screens: [
      { path: "/play", word: "Playground", icon: "play", key: "y" },
      { path: "/settings", word: "Settings & flags", icon: "settings", key: "s" },
      { path: "/nodes", word: "Nodes", icon: "nodes", key: "n" },
      { path: "/audit", word: "Audit", icon: "audit", key: "a" }
    ]
  }
]

/** What a phone's bottom bar holds. */
export const onPhones: ReadonlyArray<Screen["path"]> = ["/", "/requests", "/providers", "/resilience"]
