/** Two choices of a person: whether single keys act, and whether names, prompts and money are blurred for others who look on. */
import { useSyncExternalStore } from "react"
import { basePath } from "./place.ts"

const COOKIE = "gateway_keys"
const KEPT_S = 31_536_000

let areKeysOff = document.cookie.split("; ").includes(`${COOKIE}=off`)
const listeners = new Set<() => void>()

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Ctrl K works all the same. */
export const keysAct = (): boolean => !areKeysOff

/** The choice is kept in a cookie of this page alone, and only while the keys are off. */
export const useKeysAct = (): readonly [boolean, (act: boolean) => void] => {
  const act = useSyncExternalStore(subscribe, keysAct)
  return [act, (next) => {
    areKeysOff = !next
    document.cookie = `${COOKIE}=off; path=${basePath}; max-age=${next ? 0 : KEPT_S}; samesite=lax`
    for (const listener of listeners) listener()
  }]
}

/** Lasts until the page is loaded again, so that nobody wonders for long. */
export const toggleBlur = (): boolean => {
  const root = document.documentElement
  if ("private" in root.dataset) {
    delete root.dataset["private"]
    return false
  }
  root.dataset["private"] = ""
  return true
}
