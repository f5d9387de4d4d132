import type { Reporter, TestModule } from "vitest/node"

/** Ends a run with one plain line, `N passed, N failed, N skipped`, for machines that read the log; tells what passed only when tried again and why, and refuses skips in CI. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    let passed = 0
    let failed = 0
    let skipped = 0
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const state = test.result().state
        if (test.diagnostic()?.flaky === true) {
          console.log(`passed only when tried again: ${module.relativeModuleId} > ${test.fullName}`)
          // A failure that passes by itself is found by what it said: nothing else prints it.
          for (const { message, stack } of test.result().errors ?? []) console.log(`  ${stack ?? message}`)
        }
        if (state === "passed") passed++
        else if (state === "failed") failed++
        else skipped++
      }
      if (module.state() === "failed" && failed === 0) failed++
    }
    console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`)
    if (skipped > 0 && process.env["CI"] === "true") {
      console.error("Skipped suites are refused in CI: install the servers they need.")
      process.exitCode = 1
    }
  }
}
