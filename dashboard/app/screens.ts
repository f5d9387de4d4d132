/** The screens in the rail, by area. The palette and the shell read this one table. */
import type { ScreenName } from "#src/features/settings/api.ts"
import type { IconName } from "../parts/Icon.tsx"

export interface Screen {
  readonly path: "/" | "/welcome" | `/${Exclude<ScreenName, "overview">}`
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
      { path: "/now", word: "Now", icon: "now", key: "x" },
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
      { path: "/combos", word: "Combos", icon: "combos", key: "c" },
      { path: "/cache", word: "Cache", icon: "cache", key: "h" },
      { path: "/proxies", word: "Proxies", icon: "proxies", key: "v" },
      { path: "/compression", word: "Compression", icon: "compression", key: "j" },
      { path: "/prompts", word: "Prompts & thinking", icon: "prompts", key: "q" },
      { path: "/tasks", word: "Task routing", icon: "tasks", key: "4" },
      { path: "/rules", word: "Payload rules", icon: "rules", key: "5" }
    ]
  },
  {
    word: "Access",
    screens: [
      { path: "/keys", word: "Keys & budgets", icon: "keys", key: "k" },
      { path: "/limits", word: "Limits", icon: "limits", key: "l" },
      { path: "/leases", word: "Leases & sessions", icon: "leases", key: "d" },
      { path: "/webhooks", word: "Webhooks", icon: "webhooks", key: "w" },
      { path: "/guardrails", word: "Guardrails", icon: "guardrails", key: "g" },
      { path: "/addresses", word: "Addresses", icon: "addresses", key: "0" }
    ]
  },
  {
    word: "Agents",
    screens: [
      { path: "/agents", word: "MCP & A2A", icon: "agents", key: "t" },
      { path: "/memory", word: "Memory", icon: "memory", key: "2" },
      { path: "/skills", word: "Skills", icon: "skills", key: "3" },
      { path: "/plugins", word: "Plugins", icon: "plugins", key: "1" },
      { path: "/evals", word: "Evals", icon: "evals", key: "e" },
      { path: "/work", word: "Files & batches", icon: "work", key: "f" },
      { path: "/search", word: "Search", icon: "search", key: "i" }
    ]
  },
  {
    word: "Run",
    screens: [
      { path: "/play", word: "Playground", icon: "play", key: "y" },
      { path: "/settings", word: "Settings & flags", icon: "settings", key: "s" },
      { path: "/nodes", word: "Nodes", icon: "nodes", key: "n" },
      { path: "/audit", word: "Audit", icon: "audit", key: "a" },
      { path: "/backups", word: "Backups", icon: "backups", key: "z" },
      { path: "/sync", word: "Synchronisation", icon: "refresh", key: "6" },
      { path: "/tunnels", word: "Tunnels", icon: "upload", key: "7" }
    ]
  }
]

/** As settings call it. */
export const nameOf = ({ path }: Screen): string => path.slice(1) || "overview"

/** What a phone's bottom bar holds. */
export const onPhones: ReadonlyArray<Screen["path"]> = ["/now", "/requests", "/providers", "/resilience"]
