/** How much authority a set of key scopes carries, to stop a weaker caller from minting or touching a stronger key. */
export const scopeRank = (scopes: ReadonlyArray<string>): number => scopes.includes("admin") ? 3 : scopes.includes("manage") ? 2 : 0

