/** Where a browser goes after a sign-in: a place of this gateway's dashboard, and nowhere else. Pure. */

/** Longest place, characters. */
const LENGTH_MAX = 500
/** No host: only what stays on it is a place of the gateway. */
const here = "http://gateway.invalid"
/** From `/api/auth/oidc/*` to the gateway's root, below whatever path a reverse proxy puts it. */
const UP = "../../.."

export const DASHBOARD = "/dashboard"

/** `given`: a path below the gateway's root, with its query. Null when it leads out of the dashboard. */
export const read = (given: string): string | null => {
  const url = given.startsWith("/") ? URL.parse(given, here) : null
  if (url === null || url.origin !== here || !/^\/dashboard(?:\/|$)/.test(url.pathname)) return null
  const place = url.pathname + url.search
  return place.length <= LENGTH_MAX ? place : null
}

/** As a `Location` of the two paths of single sign-on: relative, so it cannot name another host. */
export const locationOf = (place: string): string => UP + place
