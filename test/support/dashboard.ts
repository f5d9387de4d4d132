/** The dashboard in a real browser, over a real gateway in this process with the built-in simulator as its upstream. */
import { spawnSync } from "node:child_process"
import * as path from "node:path"
import type { Browser, BrowserContextOptions, Page } from "playwright-core"
import { afterAll, beforeAll, expect, onTestFinished } from "vitest"
import { launch } from "./chromium.ts"
import { inProcess, type InProcess } from "./gateway.ts"
import { PASSWORD } from "./operator.ts"

export const folder = path.resolve(import.meta.dirname, "../../dashboard")
/** What a page may take to show what is waited for, ms: the machine may be busy. */
const PATIENCE_MS = 45_000

/** Builds what is not built yet; a stamp makes a second call cheap. */
export const build = (): void => {
  const { status, stderr } = spawnSync(process.execPath, [path.join(folder, "build.mjs"), "--strict"], { encoding: "utf8" })
  if (status !== 0) throw new Error(`the dashboard was not built: ${stderr}`)
}

export interface Visit {
  readonly page: Page
  /** Opens a screen by its path, such as `/requests`. */
  readonly go: (screen: string) => Promise<void>
  /** What no page may do: errors in scripts, breaches of the policy, requests to other origins. */
  readonly troubles: () => ReadonlyArray<string>
  readonly close: () => Promise<void>
}

/** `url`: of the gateway, as the browser reaches it. */
export const visit = async (browser: Browser, url: string, options: BrowserContextOptions & { readonly signedIn?: boolean } = {}): Promise<Visit> => {
  const { signedIn = true, ...rest } = options
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...rest })
  context.setDefaultTimeout(PATIENCE_MS)
  const page = await context.newPage()
  const troubles: Array<string> = []
  const { origin } = new URL(url)
  page.on("pageerror", (error) => troubles.push(`error: ${error.message}`))
  page.on("console", (message) => {
    // A refused call is the page's business; the browser's own line about it says nothing.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) troubles.push(`console: ${message.text()}`)
  })
  page.on("request", (request) => {
    if (!/^(?:data|blob):/.test(request.url()) && new URL(request.url()).origin !== origin) troubles.push(`foreign: ${request.url()}`)
  })
  const go = async (screen: string): Promise<void> => {
    await page.goto(`${url}/dashboard${screen === "/" ? "" : screen}`)
    if (signedIn) await page.getByRole("main").getByRole("heading", { level: 1 }).waitFor()
  }
  if (signedIn) {
    // As the form does it, without loading a page for it: the browser keeps the cookie.
    const reply = await context.request.post(`${url}/api/auth/login`, { data: { password: PASSWORD } })
    if (!reply.ok()) throw new Error(`login answered ${reply.status()}: ${await reply.text()}`)
  }
  return { page, go, troubles: () => troubles, close: () => context.close() }
}

/** Opens a screen for one test; its page is closed after it, and must have broken no rule. */
export const comerOf = (on: () => Staged) => async (screen: string, options: BrowserContextOptions = {}): Promise<Page> => {
  const seen = await visit(on().browser, on().gateway.url, options)
  onTestFinished(async () => {
    await seen.close()
    expect(seen.troubles()).toEqual([])
  })
  await seen.go(screen)
  return seen.page
}

export interface Stage {
  readonly gateway: InProcess
  readonly browser: Browser
  readonly close: () => Promise<void>
}

/** A gateway without any connection, whose simulator answers as `sim/echo`; and a browser. */
export const stage = async (environment: Readonly<Record<string, string>> = {}): Promise<Stage> => {
  build()
  const [gateway, browser] = await Promise.all([inProcess({ environment: { GATEWAY_SIM_PROVIDER: "auto", ...environment } }), launch()])
  return {
    gateway,
    browser,
    close: async () => {
      await browser.close()
      await gateway.close()
    }
  }
}

export type Staged = Pick<Stage, "browser" | "gateway">

/** The same for the tests of a `describe`: it begins before them and ends after them. */
export const staged = (environment?: Readonly<Record<string, string>>): Staged => {
  let on: Stage | undefined
  beforeAll(async () => {
    on = await stage(environment)
  }, 300_000)
  afterAll(() => on?.close())
  const begun = (): Stage => {
    if (on === undefined) throw new Error("The stage begins with the first test.")
    return on
  }
  return {
    get browser() {
      return begun().browser
    },
    get gateway() {
      return begun().gateway
    }
  }
}
