/** docs/quickstart.md: its commands in order, as a reader types them, against a gateway on a port of its own. */
import * as fs from "node:fs"
import * as path from "node:path"
import { beforeAll, describe, expect, it } from "vitest"
import { Command, emptyDirectory, freePort, root, start } from "./support/command.ts"

interface Step {
  readonly heading: string
  readonly commands: string
  /** Every line stands in what the commands print. */
  readonly shows: ReadonlyArray<string>
}

const page = fs.readFileSync(path.join(root, "docs/quickstart.md"), "utf8")
const install = "npm ci && npm start"

const stepsOf = (text: string): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  let heading = ""
  for (const [, title, kind, block = ""] of text.matchAll(/^(?:## (.*)|```(\w+)\n([\s\S]*?)^```)$/gm)) {
    if (title !== undefined) heading = title
    else if (kind === "sh") steps.push({ heading, commands: block.trim(), shows: [] })
    else if (kind === "text") steps.push({ ...steps.pop() as Step, shows: block.trim().split("\n") })
  }
  return steps
}

const steps = stepsOf(page)
const marker = (index: number): string => `-- end of step ${index} --`

describe("docs/quickstart.md", () => {
  let said: ReadonlyArray<string> = []

  beforeAll(async () => {
    const port = await freePort()
    const gateway = start(["serve", "--port", String(port), "--data-dir", path.join(emptyDirectory(), "data")])
    await gateway.said("Try it:")
    const password = /Management password: (\S+)/.exec(gateway.stdout)?.[1] ?? ""
    const script = steps.filter(({ commands }) => commands !== install).map(({ commands }, index) => `${commands}\necho '${marker(index)}'`).join("\n")
      .replaceAll("20128", String(port)).replace("<the printed password>", password)
    const directory = emptyDirectory()
    for (const name of ["package.json", "bin", "src", "schemas", "actors", "node_modules"]) fs.symlinkSync(path.join(root, name), path.join(directory, name))
    const shell = new Command("bash", ["--norc", "-eu", "-o", "pipefail", "-c", script], { cwd: directory, env: { PATH: `${path.dirname(process.execPath)}:${process.env["PATH"] ?? ""}` } })
    const ended = await shell.ended
    await gateway.stop()
    expect(ended, "the commands end with exit code 0").toMatchObject({ code: 0, stderr: "" })
    said = steps.slice(1).map((_, index) => {
      const from = index === 0 ? 0 : ended.stdout.indexOf(marker(index - 1))
      return ended.stdout.slice(from, ended.stdout.indexOf(marker(index)))
    })
  })

  it("begins with the install and shows something after most steps", () => {
    expect(steps[0]?.commands).toBe(install)
    expect(steps.filter(({ shows }) => shows.length > 0).length).toBeGreaterThan(6)
  })

  it.each(steps.slice(1).map((step, index) => [step.heading, index, step] as const).filter(([, , { shows }]) => shows.length > 0))(
    "%s (%i) prints what the page says", (_, index, { shows }) => {
      for (const line of shows) expect(said[index]).toContain(line)
    }
  )
})
