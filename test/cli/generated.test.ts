import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it } from "vitest"
import * as Docs from "#src/cli/commands/docs.ts"
import * as Openapi from "#src/cli/commands/openapi.ts"
import { emptyDirectory, root, run } from "./support/command.ts"

describe("files made from the sources", () => {
  it("docs/settings.md is what `gateway docs settings` writes", () => {
    expect(fs.readFileSync(path.join(root, "docs/settings.md"), "utf8")).toBe(Docs.settingsPage())
  })

  it("docs/known-limits.md is what `gateway docs limits` writes", () => {
    expect(fs.readFileSync(path.join(root, "docs/known-limits.md"), "utf8"), "run `gateway docs limits`").toBe(Docs.limitsPage())
  })

  it("docs/providers.md is what `gateway docs providers` writes", () => {
    expect(fs.readFileSync(path.join(root, "docs/providers.md"), "utf8"), "run `gateway docs providers`").toBe(Docs.providersPage())
  })

  it("openapi.json is what `gateway openapi` writes", () => {
    expect(fs.readFileSync(path.join(root, "openapi.json"), "utf8") === Openapi.content(), "run `npm run openapi`").toBe(true)
  })

  it("--check names a file that is not up to date and leaves it alone", async () => {
    const file = path.join(emptyDirectory(), "settings.md")
    fs.writeFileSync(file, "old")
    const stale = await run(["docs", "settings", "--check", "--output", file])
    expect(stale.code).toBe(1)
    expect(stale.stderr).toContain(file)
    expect(fs.readFileSync(file, "utf8")).toBe("old")
    expect((await run(["docs", "settings", "--output", file])).code).toBe(0)
    expect((await run(["docs", "settings", "--check", "--output", file])).code).toBe(0)
  })
})
