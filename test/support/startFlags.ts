/** How `npm start` runs Node: what a test starts as a process is what a user starts, and its database's code is not optimized in vain. */
import * as fs from "node:fs"
import * as path from "node:path"

const root = path.resolve(import.meta.dirname, "../..")
const { scripts } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")) as { readonly scripts: { readonly start: string } }
const [, before = ""] = /^exec env (.*) src\/main\.ts serve$/.exec(scripts.start) ?? []
const words = before.split(" ")
const node = words.indexOf("node")
if (node === -1) throw new Error(`\`npm start\` runs Node in another way: ${scripts.start}`)

/** Node's flags, such as `--max-semi-space-size=16`; files among them are absolute. */
export const startFlags: ReadonlyArray<string> = words.slice(node + 1).map((flag) => flag.replace("=./", `=${root}/`))

/** The variables that `npm start` sets for the C library. */
export const startEnvironment: Readonly<Record<string, string>> = Object.fromEntries(words.slice(0, node).map((word) => word.split("=") as [string, string]))
