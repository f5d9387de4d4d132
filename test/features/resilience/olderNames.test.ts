/** The waits for cooldowns under two names: one value, and the newest change of it acts. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { ResilienceChange, resilienceDefaults } from "#schemas/records/ResilienceSettings.ts"
import * as OlderNames from "#src/features/resilience/ports/olderNames.ts"
import * as ResilienceSettings from "#src/features/resilience/ports/resilienceSettings.ts"

const waits = ResilienceChange.fields.waitForCooldown.schema.fields
const older = Schema.Struct({
  requestRetry: Schema.optionalKey(waits.maxRetries.schema), maxRetryIntervalSec: Schema.optionalKey(waits.maxRetryWaitSec.schema)
})
const section = Schema.Struct({ waitForCooldown: ResilienceChange.fields.waitForCooldown })

const settingsOf = (names: object, resilience: object) => ({ nodes: [], settings: new Map<string, unknown>([...Object.entries(names), ["resilience", resilience]]) })
const acting = (names: object, resilience: object) => ResilienceSettings.of(settingsOf(names, resilience)).settings.waitForCooldown

describe("older names of waits", () => {
  it.prop("the section stands before an older name, and an older name before the default", [older, section], ([names, change]) => {
    const { enabled, maxRetries, maxRetryWaitSec } = acting(names, change)
    const defaults = resilienceDefaults.waitForCooldown
    assert.deepStrictEqual({ enabled, maxRetries, maxRetryWaitSec }, {
      enabled: change.waitForCooldown?.enabled ?? defaults.enabled,
      maxRetries: change.waitForCooldown?.maxRetries ?? names.requestRetry ?? defaults.maxRetries,
      maxRetryWaitSec: change.waitForCooldown?.maxRetryWaitSec ?? names.maxRetryIntervalSec ?? defaults.maxRetryWaitSec
    })
  })

  it.prop("a change under older names acts whatever the section said, and leaves the rest of it", [older, section], ([names, change]) => {
    const given = Object.keys(names)
    const left = OlderNames.without(change, given)
    const shown = OlderNames.shown({ waitForCooldown: acting(names, left ?? change) })
    for (const [name, value] of Object.entries(names)) assert.strictEqual(shown[name as keyof typeof shown], value)
    assert.strictEqual((left ?? change).waitForCooldown?.enabled, change.waitForCooldown?.enabled)
    if (given.length === 0) assert.isNull(left)
  })

  it("a stored value that is none is passed over", () => {
    for (const value of [11, -1, 1.5, "3", null]) assert.strictEqual(acting({ requestRetry: value, maxRetryIntervalSec: 7 }, {}).maxRetries, 3)
    assert.strictEqual(acting({ requestRetry: 11, maxRetryIntervalSec: 7 }, {}).maxRetryWaitSec, 7)
  })
})
