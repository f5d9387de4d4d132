/** Rail, notices and the place for a screen. */
import { Link, Outlet, useRouterState } from "@tanstack/react-router"
import { lazy, Suspense, useEffect, useRef, useState } from "react"
import { events, Problem } from "../api/call.ts"
import { useSkew } from "../api/clock.ts"
import { usePreferences } from "../api/preferences.ts"
import { queryClient, useChange, useRead } from "../api/query.ts"
import { duration } from "../format/numbers.ts"
import { Skeleton } from "../parts/Feedback.tsx"
import { Icon, type IconName } from "../parts/Icon.tsx"
import { Notes } from "../parts/Notes.tsx"
import { Status } from "../parts/Status.tsx"
import { Button } from "../parts/Button.tsx"
import { Brand } from "./Brand.tsx"
import { areas, nameOf, onPhones, type Screen } from "./screens.ts"
import { type Theme, useTheme } from "./theme.ts"
import { toggleZone, useZone } from "./zone.ts"
import { faultOf, type Health, useHealth } from "./useHealth.ts"
import { type Overlay, useKeys } from "./useKeys.ts"

const Palette = lazy(() => import("./Palette.tsx"))
const Help = lazy(() => import("./Help.tsx"))
const Curl = lazy(() => import("./Curl.tsx"))

/** A smaller difference of the clocks changes no decision, ms. */
const SKEW_MS = 10_000

const themeIcons: Readonly<Record<Theme, IconName>> = { system: "screen", light: "sun", dark: "moon" }
const none: { readonly from?: string; readonly range?: string; readonly to?: string } = {}
const all = areas.flatMap(({ screens }) => screens)

const useLost = (): boolean => {
  const [lost, setLost] = useState(false)
  useEffect(() => {
    const on = (): void => setLost(true)
    const off = (): void => setLost(false)
    window.addEventListener(events.lost, on)
    window.addEventListener(events.found, off)
    return () => {
      window.removeEventListener(events.lost, on)
      window.removeEventListener(events.found, off)
    }
  }, [])
  return lost
}

const HealthDot = ({ health }: { readonly health: ReturnType<typeof useHealth> }) => {
  const answered = health.error instanceof Problem && health.error.status !== 0
  const status = health.isError ? answered ? "not ready" : "unreachable" : health.data?.status ?? "asking"
  return (
    <span className="rail-link" title={`Gateway ${health.data?.version ?? ""}`}>
      <Status tone={status === "ok" ? "ok" : status === "asking" ? "off" : status === "unreachable" ? "bad" : "warn"} word="" />
      <span className="word muted small">{status === "ok" ? `Healthy, ${health.data?.version ?? ""}` : status}</span>
    </span>
  )
}

/** What is wrong with the gateway or with this computer's clock, on every screen. */
const Notices = ({ health, lost, open }: { readonly health: Health | undefined; readonly lost: boolean; readonly open: boolean }) => {
  const skew = useSkew()
  const fault = lost || health === undefined ? null : faultOf(health)
  return (
    <>
      {lost ? <div className="notice" role="status"><strong>The gateway does not answer.</strong> Values are the last known ones; the page tries again by itself.</div> : null}
      {open ? <div className="notice" role="status"><strong>No sign-in is required.</strong> Whoever reaches this address may change the gateway.</div> : null}
      {fault === null ? null : <div className="notice" role="status"><strong>{fault.what}</strong> {fault.so} <Link to="/nodes">Nodes</Link></div>}
      {Math.abs(skew) < SKEW_MS ? null : (
        <div className="notice" role="status"><strong>This computer's clock is {duration(Math.round(Math.abs(skew) / 1_000) * 1_000)} {skew > 0 ? "behind" : "ahead of"} the gateway's.</strong> Times and countdowns here follow the gateway's.</div>
      )}
    </>
  )
}

export const Shell = () => {
  const lost = useLost()
  const health = useHealth()
  const zone = useZone()
  const [theme, nextTheme] = useTheme()
  const [overlay, setOverlay] = useState<Overlay | null>(null)
  const close = (): void => setOverlay(null)
  const main = useRef<HTMLElement>(null)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  // The screens of calls share the range of time.
  const range = useRouterState({ select: ({ location: { pathname, search: { from, range: named, to } } }) => pathname === "/requests" || pathname === "/usage" ? { from, range: named, to } : none, structuralSharing: true })
  const method = useRead("GET /api/auth/status").data?.method
  const signOut = useChange("POST /api/auth/logout", [], () => {
    queryClient.clear()
    window.location.reload()
  })
  const { hidden } = usePreferences()
  const isHidden = (screen: Screen): boolean => hidden.some((name) => name === nameOf(screen))
  const isAt = (place: string): boolean => place === "/" ? path === "/" : path === place || path.startsWith(`${place}/`)

  const shown = useRef(path)
  useEffect(() => {
    if (shown.current === path) return
    shown.current = path
    // A new screen begins at its top, and a screen reader reads it from there.
    window.scrollTo(0, 0)
    main.current?.focus()
  }, [path])

  const rail = useRef<HTMLElement>(null)
  useEffect(() => {
    // The rail is longer than most windows are high.
    rail.current?.querySelector("[aria-current=page]")?.scrollIntoView({ block: "nearest" })
  }, [path])

  useKeys(setOverlay)

  return (
    <>
      {/* A button: below the page's base address a fragment would lead to another page. */}
      <button type="button" className="button skip-link" onClick={() => main.current?.focus()}>To the content</button>
      <div className="shell">
        <nav className="rail" aria-label="Screens" ref={rail}>
          <Brand />
          <Button kind="small" onClick={() => setOverlay("palette")}>
            <Icon name="search" size={16} /><span className="word">Go to<span className="hidden-text"> a screen or find a request</span></span><kbd className="word" aria-hidden="true">Ctrl K</kbd>
          </Button>
          {areas.map(({ screens, word }) => screens.every(isHidden) ? null : (
            <div key={word} className="rail-group">
              <p>{word}</p>
              {screens.map((screen) => isHidden(screen) ? null : (
                <Link key={screen.path} to={screen.path} search={screen.path === "/requests" || screen.path === "/usage" ? range : {}} className="rail-link" aria-current={isAt(screen.path) ? "page" : undefined} title={screen.word}>
                  <Icon name={screen.icon} /><span className="word">{screen.word}</span>
                </Link>
              ))}
            </div>
          ))}
          <div className="rail-foot">
            <HealthDot health={health} />
            <Button kind="small quiet" onClick={nextTheme} title={`Theme: ${theme}`}>
              <Icon name={themeIcons[theme]} size={16} /><span className="word">Theme: {theme}</span>
            </Button>
            <Button kind="small quiet" onClick={toggleZone} title={`Times in ${zone}`}>
              <Icon name="now" size={16} /><span className="word">{zone}</span>
            </Button>
            <Button kind="small quiet" onClick={() => setOverlay("help")} title="Keys">
              <Icon name="help" size={16} /><span className="word">Keys</span>
            </Button>
            {method === "session" ? (
              <Button kind="small quiet" onClick={() => signOut.mutate({})} title="Sign out">
                <Icon name="signOut" size={16} /><span className="word">Sign out</span>
              </Button>
            ) : null}
          </div>
        </nav>
        <main className="main" id="main" tabIndex={-1} ref={main}>
          <Notices health={health.data} lost={lost} open={method === "open"} />
          <Suspense fallback={<div className="page"><Skeleton rows={5} /></div>}><Outlet key={zone} /></Suspense>
        </main>
        <nav className="bottom-bar" aria-label="Main screens">
          {all.filter((screen) => onPhones.includes(screen.path) && !isHidden(screen)).map((screen) => (
            <Link key={screen.path} to={screen.path} aria-current={isAt(screen.path) ? "page" : undefined}><Icon name={screen.icon} />{screen.word}</Link>
          ))}
          <button type="button" onClick={() => setOverlay("palette")}><Icon name="more" />More</button>
        </nav>
      </div>
      <Notes />
      <Suspense fallback={null}>
        {overlay === "palette" ? <Palette onClose={close} /> : overlay === "help" ? <Help onClose={close} /> : overlay === "curl" ? <Curl onClose={close} /> : null}
      </Suspense>
    </>
  )
}
