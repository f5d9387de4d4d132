import { defineConfig } from "vitest/config"
import { startFlags } from "./test/support/startFlags.ts"

const ci = process.env["CI"] === "true"

/** Tests of what a process is: signals, memory, sockets, files, servers that are killed. Each file gets a process of its own. */
const apart = ["chaos", "cli", "cluster", "postgres", "server"].map((area) => `test/${area}/**/*.test.ts`)
/** Pages in a browser. */
const pages = ["test/dashboard/**/*.test.ts"]

export default defineConfig({
  test: {
    globalSetup: "./test/support/scratch.ts",
    exclude: ["**/node_modules/**"],
    pool: "forks",
    // As `npm start` has it: V8 would optimize the code of an embedded database in every file, for longer than the file takes.
    execArgv: startFlags.filter((flag) => flag.startsWith("--wasm-")),
    // Many tests wait more than they work: twice the cores that the suite is made for.
    maxWorkers: 4,
    // Longer than `eventually` waits, which then says what it saw last; beside two busy processes a start alone takes 20 s.
    testTimeout: 90_000,
    hookTimeout: 150_000,
    // As patient as `eventually`: its default of one second fails on a busy host.
    expect: { poll: { timeout: 45_000 } },
    // In CI a failure is tried once more, and told: a busy host must not hide a green tree, a flaky test must not hide itself.
    retry: ci ? 1 : 0,
    reporters: ci ? ["default", ["./test/support/closingLine.ts", {}]] : ["default"],
    projects: [
      { extends: true, test: { name: "apart", include: apart } },
      { extends: true, test: { name: "pages", include: pages, isolate: false } },
      // `npm test` runs these alone; it takes less than half of the time of all. They share what the workers have loaded and compiled: half of their time would be that.
      { extends: true, test: { name: "together", include: ["test/**/*.test.ts"], exclude: ["**/node_modules/**", ...apart, ...pages], isolate: false } }
    ]
  }
})
