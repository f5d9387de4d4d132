/** Rail, notices and the place for a screen. */
import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router"
import { lazy, Suspense, useEffect, useRef, useState } from "react"
import { events, Problem } from "../api/call.ts"
import { queryClient, useChange, useRead } from "../api/query.ts"
import { Skeleton } from "../parts/Feedback.tsx"
import { Icon, type IconName } from "../parts/Icon.tsx"
import { Status } from "../parts/Status.tsx"
import { Brand } from "./Brand.tsx"
import { areas, onPhones } from "./screens.ts"
import { type Theme, useTheme } from "./theme.ts"

const Palette = lazy(() => import("./Palette.tsx"))

/** After `g` the next letter must come within this time, ms. */
const CHORD_MS = 1_200
const HEALTH_MS = 10_000

const themeIcons: Readonly<Record<Theme, IconName>> = { system: "screen", light: "sun", dark: "moon" }
const all = areas.flatMap(({ screens }) => screens)

/** Keys belong to a field while somebody types in it. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select")) || document.querySelector("dialog[open]") !== null

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

const Health = () => {
  const health = useRead("GET /api/health", {}, { everyMs: HEALTH_MS })
  const answered = health.error instanceof Problem && health.error.status !== 0
  const status = health.isError ? answered ? "not ready" : "unreachable" : health.data?.status ?? "asking"
  return (
    <span className="rail-link" title={`Gateway ${health.data?.version ?? ""}`}>
      <Status tone={status === "ok" ? "ok" : status === "asking" ? "off" : status === "unreachable" ? "bad" : "warn"} word="" />
      <span className="word muted small">{status === "ok" ? `Healthy, ${health.data?.version ?? ""}` : status}</span>
    </span>
  )
}

export const Shell = () => {
  const navigate = useNavigate()
  const lost = useLost()
  const [theme, nextTheme] = useTheme()
  const [palette, setPalette] = useState(false)
  const chord = useRef(0)
  const main = useRef<HTMLElement>(null)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const method = useRead("GET /api/auth/status").data?.method
  const signOut = useChange("POST /api/auth/logout", [], () => {
    queryClient.clear()
    window.location.reload()
  })
  const isAt = (place: string): boolean => place === "/" ? path === "/" : path === place || path.startsWith(`${place}/`)

  const shown = useRef(path)
  useEffect(() => {
    if (shown.current === path) return
    shown.current = path
    // A new screen begins at its top, and a screen reader reads it from there.
    window.scrollTo(0, 0)
    main.current?.focus()
  }, [path])

  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key === "k") {
        event.preventDefault()
        setPalette(true)
        return
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return
      if (event.key === "/") {
        const search = document.querySelector<HTMLInputElement>("input[type=search]")
        if (search === null) return
        event.preventDefault()
        search.focus()
        return
      }
      if (event.key === "g") {
        chord.current = event.timeStamp
        return
      }
      if (event.timeStamp - chord.current > CHORD_MS) return
      chord.current = 0
      const screen = all.find(({ key }) => key === event.key)
      if (screen !== undefined) void navigate({ to: screen.path })
    }
    window.addEventListener("keydown", press)
    return () => window.removeEventListener("keydown", press)
  }, [navigate])

  return (
    <>
      {/* A button: below the page's base address a fragment would lead to another page. */}
      <button type="button" className="button skip-link" onClick={() => main.current?.focus()}>To the content</button>
      <div className="shell">
        <nav className="rail" aria-label="Screens">
          <Brand />
          <button type="button" className="button button-small" onClick={() => setPalette(true)}>
            <Icon name="search" size={16} /><span className="word">Go to<span className="hidden-text"> a screen or find a request</span></span><kbd className="word" aria-hidden="true">Ctrl K</kbd>
          </button>
          {areas.map(({ screens, word }) => (
            <div key={word} className="rail-group">
              <p>{word}</p>
              {screens.map((screen) => (
                <Link key={screen.path} to={screen.path} className="rail-link" aria-current={isAt(screen.path) ? "page" : undefined} title={screen.word}>
                  <Icon name={screen.icon} /><span className="word">{screen.word}</span>
                </Link>
              ))}
            </div>
          ))}
          <div className="rail-foot">
            <Health />
            <button type="button" className="button button-quiet button-small" onClick={nextTheme} title={`Theme: ${theme}`}>
              <Icon name={themeIcons[theme]} size={16} /><span className="word">Theme: {theme}</span>
            </button>
            {method === "session" ? (
              <button type="button" className="button button-quiet button-small" onClick={() => signOut.mutate({})} title="Sign out">
                <Icon name="signOut" size={16} /><span className="word">Sign out</span>
              </button>
            ) : null}
          </div>
        </nav>
        <main className="main" id="main" tabIndex={-1} ref={main}>
          {lost ? <div className="notice" role="status"><strong>The gateway does not answer.</strong> Values are the last known ones; the page tries again by itself.</div> : null}
          {method === "open" ? <div className="notice" role="status"><strong>No sign-in is required.</strong> Whoever reaches this address may change the gateway.</div> : null}
          <Suspense fallback={<div className="page"><Skeleton rows={5} /></div>}><Outlet /></Suspense>
        </main>
        <nav className="bottom-bar" aria-label="Main screens">
          {all.filter((screen) => onPhones.includes(screen.path)).map((screen) => (
            <Link key={screen.path} to={screen.path} aria-current={isAt(screen.path) ? "page" : undefined}><Icon name={screen.icon} />{screen.word}</Link>
          ))}
          <button type="button" onClick={() => setPalette(true)}><Icon name="more" />More</button>
        </nav>
      </div>
      {palette ? <Suspense fallback={null}><Palette onClose={() => setPalette(false)} /></Suspense> : null}
    </>
  )
}
