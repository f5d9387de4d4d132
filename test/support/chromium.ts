/**
 * A real browser for a test: Debian's Chromium without a window, with an empty profile of its own. It sends nothing off this
 * machine: names that the test invents are mapped to loopback, all others do not resolve.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { type Browser as Chromium, type BrowserContext, chromium } from "playwright-core"

/** The same engine without the browser around its pages, which takes less CPU; else the whole browser. */
const BINARIES = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"]
const BINARY = BINARIES.find((file) => fs.existsSync(file)) ?? "/usr/bin/chromium-headless-shell"

/** Whether the browser is installed; suites that need it are skipped without, with the reason printed, and fail under CI. */
export const canBrowse = (): boolean => {
  if (process.env["CI"] === "true" || fs.existsSync(BINARY)) return true
  console.warn(`Skipped: ${BINARY} is not installed (Debian package chromium-headless-shell).`)
  return false
}

export interface Browser {
  /** Opens the page and answers what the expression's promise gives there. */
  readonly evaluate: <A>(url: string, script: string) => Promise<A>
  readonly close: () => Promise<void>
}

const argumentsFor = (names: ReadonlyArray<string>): Array<string> => [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
  "--disable-dev-shm-usage", `--host-resolver-rules=${names.map((name) => `MAP ${name} 127.0.0.1`).join(", ")}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost`
]

/** A browser for pages that a test uses as a person does; each test opens a context of its own. */
export const launch = (names: ReadonlyArray<string> = []): Promise<Chromium> =>
  chromium.launch({ executablePath: BINARY, headless: true, args: argumentsFor(names) })

/** `names`: host names that this browser finds at 127.0.0.1. */
export const browse = async (names: ReadonlyArray<string>): Promise<Browser> => {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "chromium-"))
  const context: BrowserContext = await chromium.launchPersistentContext(profile, {
    executablePath: BINARY,
    headless: true,
    args: argumentsFor(names)
  })
  return {
    evaluate: async <A>(url: string, script: string): Promise<A> => {
      const page = await context.newPage()
      try {
        await page.goto(url, { waitUntil: "load" })
        return await page.evaluate<A>(script)
      } finally {
        await page.close()
      }
    },
    close: async () => {
      await context.close()
      fs.rmSync(profile, { recursive: true, force: true })
    }
  }
}
