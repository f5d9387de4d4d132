#!/usr/bin/env node
/**
 * Makes an installation smaller for an image: removes native builds for other platforms and other Node versions, and the headers
 * that came with the runtime. Run it after `npm ci --omit=dev`, on the platform the image is for:
 *
 *     node deploy/slim.mjs [directory]
 *
 * Prints what it removed in MB. A second run removes nothing.
 */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"

const root = path.resolve(process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url)))
const modules = path.join(root, "node_modules")
if (!fs.existsSync(modules)) {
  console.error(`${modules} does not exist: run \`npm ci --omit=dev\` in ${root} first.`)
  process.exit(1)
}

/** The gateway's own Node decides which native build is loaded; without it the one that runs this script does. */
const runtime = path.join(modules, "node", "bin", "node")
const version = fs.existsSync(runtime)
  ? execFileSync(runtime, ["-p", "process.versions.modules"], { encoding: "utf8" }).trim()
  : process.versions.modules

const sizeOf = (place) => {
  const stat = fs.lstatSync(place)
  if (!stat.isDirectory()) return stat.size
  return fs.readdirSync(place).reduce((sum, name) => sum + sizeOf(path.join(place, name)), 0)
}

let removed = 0
const remove = (place) => {
  if (!fs.existsSync(place)) return
  removed += sizeOf(place)
  fs.rmSync(place, { recursive: true })
}

/** The runtime is one file with two names: a copy into an image's layer would hold it twice, so one name becomes a symbolic link. */
const shareRuntime = (binary) => {
  if (!fs.existsSync(binary) || !fs.existsSync(runtime)) return
  const [own, other] = [fs.lstatSync(runtime), fs.lstatSync(binary)]
  if (own.isSymbolicLink() || own.ino !== other.ino) return
  fs.rmSync(runtime)
  fs.symlinkSync(path.relative(path.dirname(runtime), binary), runtime)
}

const builds = path.join(modules, "uWebSockets.js", "dist", "bin")
const own = `uws_${process.platform}_${process.arch}_${version}.node`
const names = fs.existsSync(builds) ? fs.readdirSync(builds).filter((name) => name.endsWith(".node")) : []
if (names.length > 0 && !names.includes(own)) {
  console.error(`${builds} has no ${own}: nothing was removed, because the gateway could not start on this platform.`)
  process.exit(1)
}
for (const name of names) if (name !== own) remove(path.join(builds, name))

const packages = path.join(modules, "node", "node_modules")
for (const name of fs.existsSync(packages) ? fs.readdirSync(packages) : []) {
  if (!name.startsWith("node-")) continue
  for (const part of ["include", "share", "CHANGELOG.md"]) remove(path.join(packages, name, part))
  shareRuntime(path.join(packages, name, "bin", "node"))
}

console.log(`removed ${(removed / 1e6).toFixed(0)} MB from ${modules}`)
