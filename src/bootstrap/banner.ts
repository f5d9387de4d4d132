/** What a person sees when the gateway is ready. */

export interface BannerFacts {
  readonly url: string
  readonly version: string
  /** Whether GET /dashboard shows a page. */
  readonly dashboard: "ready" | "not built" | "off"
  /** Shown once, on the start that generated it. */
  readonly password: string | null
  /** A model that answers now, for the curl line. */
  readonly model: string | null
  readonly requireApiKey: boolean
  readonly loopback: boolean
  readonly records: string
  /** Variables that are set and not read, each as a sentence. */
  readonly unknownVariables: ReadonlyArray<string>
  /** Processes that share the port. */
  readonly workers: number
}

export const banner = (facts: BannerFacts): string => {
  const lines = ["", `  Gateway ${facts.version} listens on ${facts.url}`, `  records: ${facts.records}`]
  if (facts.dashboard === "ready") lines.push(`  dashboard: ${facts.url}/dashboard`)
  if (facts.dashboard === "not built") lines.push("  dashboard: not built, because the development packages were not installed; `npm ci` builds it")
  if (facts.workers > 1) lines.push(`  processes: ${facts.workers}`)
  if (facts.password !== null) {
    lines.push("", `  Management password: ${facts.password}`, "  (generated now, shown only this once; change it with PUT /api/settings/require-login)")
  }
  if (facts.model !== null) {
    const key = facts.requireApiKey ? " \\\n    -H 'Authorization: Bearer <your key>'" : ""
    lines.push(
      "",
      "  Try it:",
      `  curl -N ${facts.url}/v1/chat/completions${key} \\`,
      "    -H 'Content-Type: application/json' \\",
      `    -d '{"model":"${facts.model}","stream":true,"messages":[{"role":"user","content":"Hello, gateway"}]}'`
    )
  }
  if (!facts.requireApiKey && !facts.loopback) {
    lines.push(
      "",
      "  !! WARNING: REQUIRE_API_KEY is off and this address is reachable from other machines:",
      "  !! any client can spend your provider credits. Set REQUIRE_API_KEY=true, or HOST=127.0.0.1."
    )
  }
  if (facts.unknownVariables.length > 0) lines.push("", ...facts.unknownVariables.map((sentence) => `  !! ${sentence}`))
  lines.push("")
  return lines.join("\n")
}
