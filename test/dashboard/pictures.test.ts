/**
 * The pictures of the documents, made anew by `DOCS_PICTURES=docs npx vitest run test/dashboard/pictures.test.ts`; without the variable they
 * are made in a temporary folder, so that the command is known to work.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Stage, stage, type Visit, visit } from "#test/support/dashboard.ts"
import * as Http from "#test/support/http.ts"
import { seed } from "./seed.ts"

const WIDTH = 1_200
const asked = process.env["DOCS_PICTURES"]

describe("the pictures of the documents", () => {
  let on: Stage
  let request = ""
  const folder = asked === undefined ? fs.mkdtempSync(path.join(os.tmpdir(), "gateway-pictures-")) : path.resolve(asked)
  const open: Array<Visit> = []
  beforeAll(async () => {
    on = await stage()
    request = await seed(on.gateway)
    const ask = (n: number) => Http.send(on.gateway.url, {
      path: "/v1/chat/completions", body: { model: n % 9 === 0 ? "reliable" : "sim/echo", messages: [{ role: "user", content: `Question ${n} ${"word ".repeat(n * 7 % 30)}` }] }
    })
    for (let n = 0; n < 48; n += 12) await Promise.all(Array.from({ length: 12 }, (_, place) => ask(n + place)))
  }, 180_000)
  afterAll(async () => {
    for (const seen of open) await seen.close()
    await on.close()
    if (asked === undefined) fs.rmSync(folder, { recursive: true, force: true })
  })

  it.each([["dashboard.png", "light", 860, "/", "In flight"], ["dashboard-request.png", "dark", 720, "request", "Waterfall"]] as const)("%s shows what its screen is for", async (name, colorScheme, height, screen, shown) => {
    const seen = await visit(on.browser, on.gateway.url, { viewport: { width: WIDTH, height }, colorScheme })
    open.push(seen)
    await seen.go(screen === "request" ? `/requests/${request}` : screen)
    await seen.page.getByRole("main").getByText(shown).first().waitFor()
    await seen.page.waitForLoadState("networkidle")
    const file = path.join(folder, name)
    await seen.page.screenshot({ path: file })
    const bytes = fs.readFileSync(file)
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([WIDTH, height])
    // One colour all over would be smaller.
    expect(bytes.length).toBeGreaterThan(20_000)
    expect(seen.troubles()).toEqual([])
  })
})
