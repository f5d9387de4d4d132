/** Who uses the page: sign-in, the first password, and a session that ends while somebody works. */
import { type ReactNode, useEffect, useState } from "react"
import { instanceName } from "../api/preferences.ts"
import { queryClient, useChange, useRead } from "../api/query.ts"
import { call, events, Problem } from "../api/call.ts"
import { Dialog } from "../parts/Dialog.tsx"
import { Failure, Skeleton } from "../parts/Feedback.tsx"
import { TextField } from "../parts/Field.tsx"
import { useNow } from "../parts/now.ts"
import { Form } from "../parts/edit/Form.tsx"
import { Button } from "../parts/Button.tsx"
import { Brand } from "./Brand.tsx"
import { basePath, urlOf } from "./place.ts"

const LEAST_PASSWORD = 8
const RETRY_MS = 3_000
const SECOND_MS = 1_000

/** The lock after wrong passwords, counted down. */
const useLock = (error: Error | null): number => {
  const now = useNow()
  const until = error instanceof Problem ? error.retryAt : null
  return until === null ? 0 : Math.max(0, Math.ceil((until - now) / SECOND_MS))
}

/** How this gateway lets people in. */
interface Ways {
  readonly password: boolean
  readonly singleSignOn: boolean
}

/** Leaves the page for the issuer's, which sends the browser back to the place that it left. */
const SingleSignOn = () => {
  const url = urlOf("/api/auth/oidc/login")
  const below = window.location.pathname.slice(basePath.length)
  url.searchParams.set("returnTo", `/dashboard${below}${window.location.search}`)
  return <a className="button" href={url.href}>Sign in with single sign-on</a>
}

const SignInForm = ({ children, onDone, ways }: { readonly children?: ReactNode; readonly onDone: () => void; readonly ways: Ways }) => (
  <div className="stack">
    {ways.password ? <PasswordForm onDone={onDone}>{children}</PasswordForm> : null}
    {ways.singleSignOn ? <SingleSignOn /> : null}
  </div>
)

const PasswordForm = ({ children, onDone }: { readonly children?: ReactNode; readonly onDone: () => void }) => {
  const [password, setPassword] = useState("")
  const signIn = useChange("POST /api/auth/login", [], onDone)
  const locked = useLock(signIn.error)
  return (
    <Form className="stack" onSubmit={() => signIn.mutate({ body: { password } })}>
      <div className="field">
        <label htmlFor="password">Password</label>
        <input
          id="password" className="input" type="password" name="password" autoComplete="current-password" required autoFocus value={password}
          aria-describedby={signIn.error === null ? undefined : "password-wrong"} aria-invalid={signIn.error === null ? undefined : true}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        {signIn.error === null ? null : (
          <p className="wrong" id="password-wrong" role="alert">{locked > 0 ? `Too many attempts. Try again in ${locked} s.` : signIn.error.message}</p>
        )}
      </div>
      <Button type="submit" kind="primary" disabled={signIn.isPending || locked > 0}>Sign in</Button>
      {children}
    </Form>
  )
}

const WIZARD = `${basePath}/welcome`

/** A gateway that has no connection, no key and no call yet begins with its first steps; an address that names a screen stays. */
const toFirstSteps = async (): Promise<void> => {
  if (window.location.pathname.replace(/\/$/, "") !== basePath) return
  try {
    const [{ connections }, { total }, { totalRequests }] = await Promise.all([call("GET /api/providers"), call("GET /api/keys", { query: { limit: 1 } }), call("GET /api/usage/history")])
    if (connections.length === 0 && total === 0 && totalRequests === 0) window.history.replaceState(null, "", WIZARD)
  } catch (error) {
    // Then the overview says what cannot be read.
    if (!(error instanceof Problem)) throw error
  }
}

const SignIn = ({ ways }: { readonly ways: Ways }) => {
  useEffect(() => {
    document.title = `Sign in · ${instanceName()}`
  }, [])
  return (
    <main className="gate">
      <div className="gate-card">
        <Brand />
        <h1>Sign in</h1>
        <SignInForm ways={ways} onDone={() => void toFirstSteps().then(() => queryClient.invalidateQueries())}>
          <p className="muted small">
            The first start printed the password. <code>npm run gateway -- password reset</code> sets a new one.
          </p>
        </SignInForm>
      </div>
    </main>
  )
}

const FirstPassword = () => {
  const [password, setPassword] = useState("")
  const set = useChange("POST /api/settings/require-login", [])
  const signIn = useChange("POST /api/auth/login", [], () => void toFirstSteps().then(() => queryClient.invalidateQueries()))
  useEffect(() => {
    document.title = `Set a password · ${instanceName()}`
  }, [])
  const error = set.error ?? signIn.error
  return (
    <main className="gate">
      <Form className="gate-card" onSubmit={() => set.mutate({ body: { password, requireLogin: true } }, { onSuccess: () => signIn.mutate({ body: { password } }) })}>
        <Brand />
        <h1>Set a password</h1>
        <p className="muted">This gateway has no management password yet. Whoever knows it may read and change everything here.</p>
        <TextField label="New password" type="password" value={password} onChange={setPassword} required autoFocus hint={`At least ${LEAST_PASSWORD} characters. A sentence is easier to keep than a riddle.`} />
        <Failure what="The password was not set" error={error} />
        <Button type="submit" kind="primary" disabled={password.length < LEAST_PASSWORD || set.isPending || signIn.isPending}>Set the password</Button>
      </Form>
    </main>
  )
}

const Lost = ({ error, retry }: { readonly error: Error; readonly retry: () => void }) => (
  <>
    <Brand />
    <h1>The gateway cannot be reached</h1>
    <Failure what="The sign-in could not be looked up" error={error} retry={retry} />
  </>
)

/** Shows what needs a session only to those who have one. What was typed stays while a session is renewed. */
export const Session = ({ children }: { readonly children: ReactNode }) => {
  const [over, setOver] = useState(false)
  const status = useRead("GET /api/auth/status", {}, { everyMs: over ? null : 60_000 })
  useEffect(() => {
    const end = (): void => setOver(true)
    window.addEventListener(events.signedOut, end)
    return () => window.removeEventListener(events.signedOut, end)
  }, [])
  const known = status.data
  const [wasIn, setWasIn] = useState(false)
  if (known?.authenticated === true && !wasIn) setWasIn(true)
  useEffect(() => {
    if (known !== undefined || status.error === null) return
    const timer = setTimeout(() => void status.refetch(), RETRY_MS)
    return () => clearTimeout(timer)
  })
  if (known === undefined) return <main className="gate"><div className="gate-card">{status.error === null ? <Skeleton rows={3} /> : <Lost error={status.error} retry={() => void status.refetch()} />}</div></main>
  if (!known.hasPassword && !known.authenticated && !wasIn) return <FirstPassword />
  const ways: Ways = { password: known.passwordLogin, singleSignOn: known.singleSignOn }
  if (!known.authenticated && !wasIn) return <SignIn ways={ways} />
  const ended = over || !known.authenticated
  return (
    <>
      {children}
      {ended ? (
        <Dialog title="Your session has ended" stays onClose={() => undefined}>
          <p className="muted">Sign in again. What you typed is still here.</p>
          <SignInForm
            ways={ways}
            onDone={() => {
              setOver(false)
              void queryClient.invalidateQueries()
            }}
          />
        </Dialog>
      ) : null}
    </>
  )
}
