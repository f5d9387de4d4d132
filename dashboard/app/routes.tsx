/** The one table of routes: each screen is a chunk of its own, and its address holds what it shows. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Link, parseSearchWith, stringifySearchWith } from "@tanstack/react-router"
import { Page } from "../parts/Page.tsx"
import { Failure } from "../parts/Feedback.tsx"
import { Button } from "../parts/Button.tsx"
import { basePath } from "./place.ts"
import { Shell } from "./Shell.tsx"

/** Members of the search that are texts and known; others are dropped. */
const words = <const K extends string>(...names: ReadonlyArray<K>) => (search: Record<string, unknown>): { readonly [N in K]?: string } =>
  Object.fromEntries(names.flatMap((name) => {
    const value = search[name]
    return typeof value === "string" && value !== "" ? [[name, value]] : typeof value === "number" || typeof value === "boolean" ? [[name, String(value)]] : []
  })) as { readonly [N in K]?: string }

const NotFound = () => (
  <Page title="No such screen" lead="The address may be of another version of the gateway.">
    <p><Link to="/">To the overview</Link></p>
  </Page>
)

const root = createRootRoute({
  component: Shell,
  notFoundComponent: NotFound,
  errorComponent: ({ error, reset }) => (
    <Page title="This screen broke" lead="The gateway may have been updated since this page was loaded." actions={<Button onClick={() => window.location.reload()}>Load the page again</Button>}>
      <Failure what="The screen could not be drawn" error={error instanceof Error ? error : new Error(String(error))} retry={reset} />
    </Page>
  )
})
const at = () => root

const routes = [
  createRoute({ getParentRoute: at, path: "/", validateSearch: words("at"), component: lazyRouteComponent(() => import("../screens/overview/Overview.tsx")) }),
  createRoute({ getParentRoute: at, path: "/welcome", component: lazyRouteComponent(() => import("../screens/welcome/Welcome.tsx")) }),
  createRoute({
    getParentRoute: at, path: "/requests", validateSearch: words("search", "status", "outcome", "model", "provider", "key", "account", "combo", "error", "range", "from", "to", "exact", "open"),
    component: lazyRouteComponent(() => import("../screens/requests/Requests.tsx"))
  }),
  createRoute({ getParentRoute: at, path: "/requests/$id", component: lazyRouteComponent(() => import("../screens/requests/Request.tsx")) }),
  createRoute({ getParentRoute: at, path: "/usage", validateSearch: words("range", "from", "to", "bucket", "metric", "by", "compare"), component: lazyRouteComponent(() => import("../screens/usage/Usage.tsx")) }),
  createRoute({ getParentRoute: at, path: "/resilience", component: lazyRouteComponent(() => import("../screens/resilience/Resilience.tsx")) }),
  createRoute({ getParentRoute: at, path: "/providers", validateSearch: words("search"), component: lazyRouteComponent(() => import("../screens/providers/Providers.tsx")) }),
  createRoute({ getParentRoute: at, path: "/models", validateSearch: words("search", "show"), component: lazyRouteComponent(() => import("../screens/models/Models.tsx")) }),
  createRoute({ getParentRoute: at, path: "/combos", component: lazyRouteComponent(() => import("../screens/combos/Combos.tsx")) }),
  createRoute({ getParentRoute: at, path: "/keys", validateSearch: words("search", "page"), component: lazyRouteComponent(() => import("../screens/keys/Keys.tsx")) }),
  createRoute({ getParentRoute: at, path: "/play", validateSearch: words("model", "format"), component: lazyRouteComponent(() => import("../screens/play/Playground.tsx")) }),
  createRoute({ getParentRoute: at, path: "/settings", validateSearch: words("search", "show"), component: lazyRouteComponent(() => import("../screens/settings/Settings.tsx")) }),
  createRoute({ getParentRoute: at, path: "/nodes", component: lazyRouteComponent(() => import("../screens/nodes/Nodes.tsx")) }),
  createRoute({ getParentRoute: at, path: "/limits", validateSearch: words("kind", "search"), component: lazyRouteComponent(() => import("../screens/limits/Limits.tsx")) }),
  createRoute({ getParentRoute: at, path: "/cache", validateSearch: words("search", "model", "sort", "page"), component: lazyRouteComponent(() => import("../screens/cache/Cache.tsx")) }),
  createRoute({ getParentRoute: at, path: "/leases", component: lazyRouteComponent(() => import("../screens/leases/Leases.tsx")) }),
  createRoute({ getParentRoute: at, path: "/work", validateSearch: words("search", "purpose"), component: lazyRouteComponent(() => import("../screens/work/Work.tsx")) }),
  createRoute({ getParentRoute: at, path: "/search", component: lazyRouteComponent(() => import("../screens/search/Search.tsx")) }),
  createRoute({ getParentRoute: at, path: "/agents", validateSearch: words("tool", "state", "page", "tasks"), component: lazyRouteComponent(() => import("../screens/agents/Agents.tsx")) }),
  createRoute({ getParentRoute: at, path: "/evals", component: lazyRouteComponent(() => import("../screens/evals/Evals.tsx")) }),
  createRoute({ getParentRoute: at, path: "/now", component: lazyRouteComponent(() => import("../screens/now/Now.tsx")) }),
  createRoute({ getParentRoute: at, path: "/webhooks", component: lazyRouteComponent(() => import("../screens/webhooks/Webhooks.tsx")) }),
  createRoute({ getParentRoute: at, path: "/guardrails", component: lazyRouteComponent(() => import("../screens/guardrails/Guardrails.tsx")) }),
  createRoute({ getParentRoute: at, path: "/proxies", validateSearch: words("search", "hours"), component: lazyRouteComponent(() => import("../screens/proxies/Proxies.tsx")) }),
  createRoute({ getParentRoute: at, path: "/backups", component: lazyRouteComponent(() => import("../screens/backups/Backups.tsx")) }),
  createRoute({ getParentRoute: at, path: "/compression", validateSearch: words("since"), component: lazyRouteComponent(() => import("../screens/compression/Compression.tsx")) }),
  createRoute({ getParentRoute: at, path: "/prompts", component: lazyRouteComponent(() => import("../screens/prompts/Prompts.tsx")) }),
  createRoute({ getParentRoute: at, path: "/addresses", validateSearch: words("search"), component: lazyRouteComponent(() => import("../screens/addresses/Addresses.tsx")) }),
  createRoute({ getParentRoute: at, path: "/plugins", component: lazyRouteComponent(() => import("../screens/plugins/Plugins.tsx")) }),
  createRoute({ getParentRoute: at, path: "/memory", validateSearch: words("search", "key", "type", "page"), component: lazyRouteComponent(() => import("../screens/memory/Memory.tsx")) }),
  createRoute({ getParentRoute: at, path: "/skills", validateSearch: words("search", "page"), component: lazyRouteComponent(() => import("../screens/skills/Skills.tsx")) }),
  createRoute({ getParentRoute: at, path: "/tasks", component: lazyRouteComponent(() => import("../screens/tasks/Tasks.tsx")) }),
  createRoute({ getParentRoute: at, path: "/rules", component: lazyRouteComponent(() => import("../screens/rules/Rules.tsx")) }),
  createRoute({ getParentRoute: at, path: "/sync", component: lazyRouteComponent(() => import("../screens/sync/Sync.tsx")) }),
  createRoute({ getParentRoute: at, path: "/tunnels", component: lazyRouteComponent(() => import("../screens/tunnels/Tunnels.tsx")) }),
  createRoute({ getParentRoute: at, path: "/audit", validateSearch: words("action", "actor", "target", "page"), component: lazyRouteComponent(() => import("../screens/audit/Audit.tsx")) })
] as const

/** Addresses hold plain words, as a person writes them: no quotes around what looks like a number. */
const parseSearch = parseSearchWith((value) => value)
const stringifySearch = stringifySearchWith(String)

export const router = createRouter({ routeTree: root.addChildren([...routes]), basepath: basePath, parseSearch, stringifySearch, defaultPreload: "intent", scrollRestoration: false })

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router
  }
}
