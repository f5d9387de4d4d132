/** Adds security schemes and the tier of every operation to a generated OpenAPI document. */
import type { RouteRule } from "#schemas/api/RouteTable.ts"

const schemes = {
  session: { type: "apiKey", in: "cookie", name: "auth_token", description: "Dashboard session of POST /api/auth/login." },
  bearer: {
    type: "http", scheme: "bearer",
    description: "API key with scope manage or admin, or an access token gwa_live_ (read < write < admin)."
  },
  localToken: { type: "apiKey", in: "header", name: "x-gateway-cli-token", description: "Command line on the same machine, from loopback only." }
} as const

type Spec = Record<string, unknown>

const member = (value: unknown, key: string): Spec | null => {
  const found = (value as Spec | undefined)?.[key]
  return typeof found === "object" && found !== null ? found as Spec : null
}

/** Pure over plain JSON: unknown members are kept as they are. */
export const describeSecurity = (spec: Spec, routes: ReadonlyArray<RouteRule>): Spec => {
  const components = member(spec, "components") ?? {}
  const paths = member(spec, "paths")
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}")
    const operation = member(member(paths, path), route.method.toLowerCase())
    if (operation === null) continue
    const tier = route.access?.tier ?? "ALWAYS_PROTECTED"
    operation["x-access-tier"] = tier
    operation["security"] = tier === "PUBLIC" ? [] : [{ session: [] }, { bearer: [] }, { localToken: [] }]
  }
  return { ...spec, components: { ...components, securitySchemes: schemes } }
}
