/** Whether times are shown in the viewer's zone or in UTC. A cookie of this page alone keeps the choice. */
import { useSyncExternalStore } from "react"
import { onZone, showUtc, zoneNow } from "../format/zone.ts"
import { basePath } from "./place.ts"

const COOKIE = "gateway_zone"
const KEPT_S = 31_536_000

let isUtc = document.cookie.split("; ").includes(`${COOKIE}=utc`)
showUtc(isUtc)

export const useZone = (): string => useSyncExternalStore(onZone, zoneNow)

export const toggleZone = (): void => {
  isUtc = !isUtc
  document.cookie = `${COOKIE}=utc; path=${basePath}; max-age=${isUtc ? KEPT_S : 0}; samesite=lax`
  showUtc(isUtc)
}
