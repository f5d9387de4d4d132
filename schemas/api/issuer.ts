/** The issuer of single sign-on as an operator names it: an https URL without query, fragment or credentials (OpenID Connect Core 1.0, section 2). */

/** Hosts of this machine: only there keys and tokens may travel without TLS. */
const isLoopback = (host: string): boolean => host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host)

/** Whether an address of the issuer may be used: https, and plain http on this machine alone. */
export const isSafe = (address: string): boolean => {
  const url = URL.parse(address)
  return url !== null && url.username === "" && url.password === "" && (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname)))
}

/** What is wrong with an issuer; null = nothing. */
export const problemOf = (issuer: string): string | null =>
  !isSafe(issuer) ? "Expected an https URL, such as https://login.example.com/realms/main; http is taken for this machine only"
    : /[?#\s]/.test(issuer) ? "Expected a URL without query and fragment"
    : null

/** Where an issuer describes itself (OpenID Connect Discovery 1.0, section 4). */
export const discoveryOf = (issuer: string): string => `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`
