/**
 * Interleaved rounds: A B C A B C, so that a slow minute of a shared machine slows every target. A run that fails is
 * recorded and the others go on.
 */
import type { Harness } from "./Harness.ts"
import { ForeignLoad, foreignNote } from "./ForeignLoad.ts"
import type { Failure, Measurement } from "#bench/http/report/metrics.ts"
import { type Outcome as ScenarioOutcome, type Scenario, type Sizes, warm } from "./Scenario.ts"
import type { Running, Target } from "./targets/Target.ts"

export interface Plan {
  readonly scenarios: ReadonlyArray<Scenario>
  readonly targets: ReadonlyArray<Target>
  /** The target that budgets are about: in a smoke run the only one that gets fresh instances. */
  readonly subject: string
  readonly direct: Target
  /** Null: as many as each scenario wants in a smoke run. */
  readonly rounds: number | null
  readonly sizes: Sizes
}

export interface Outcome {
  readonly measurements: ReadonlyArray<Measurement>
  readonly failures: ReadonlyArray<Failure>
}

interface Measured extends ScenarioOutcome {
  readonly foreignCores: number
}

const message = (error: unknown): string => error instanceof Error ? error.message : String(error)

const shown = (values: Readonly<Record<string, number>>): string =>
  Object.entries(values).map(([id, value]) => `${id.slice(id.indexOf(".") + 1)} ${Number(value.toPrecision(4))}`).join("  ")

export class Runner {
  readonly #harness: Harness
  readonly #plan: Plan
  readonly #log: (line: string) => void
  readonly #lasting = new Map<string, Running>()
  /** Targets that could not be started: tried once, not once per round. */
  readonly #broken = new Set<string>()
  readonly #measurements: Array<Measurement> = []
  readonly #failures: Array<Failure> = []
  #instances = 0

  constructor(harness: Harness, plan: Plan, log: (line: string) => void) {
    this.#harness = harness
    this.#plan = plan
    this.#log = log
  }

  async run(): Promise<Outcome> {
    try {
      for (const scenario of this.#plan.scenarios) {
        this.#log(`${scenario.id}: ${scenario.title(this.#plan.sizes)}`)
        for (const target of this.#plan.targets) {
          const reason = target.name === this.#plan.subject ? scenario.excludes(target) : null
          if (reason !== null) this.#log(`  ${target.name} is left out: ${reason}`)
        }
        const rounds = scenario.once === true ? 1 : this.#plan.rounds ?? scenario.smokeRounds
        for (let round = 1; round <= rounds; round++) {
          if (scenario.direct) await this.#once(scenario, this.#plan.direct, round)
          for (const target of this.#targetsOf(scenario)) await this.#once(scenario, target, round)
        }
      }
    } finally {
      await Promise.all([...this.#lasting.values()].map((running) => running.stop()))
    }
    return { measurements: this.#measurements, failures: this.#failures }
  }

  #targetsOf(scenario: Scenario): ReadonlyArray<Target> {
    const { rounds, subject, targets } = this.#plan
    const own = targets.filter((each) => each.name === subject)
    return rounds === null && scenario.fresh && own.length > 0 ? own : targets
  }

  async #once(scenario: Scenario, target: Target, round: number): Promise<void> {
    if (scenario.excludes(target) !== null || target.only?.includes(scenario.id) === false || this.#broken.has(target.name)) return
    try {
      const { values, foreignCores, notes } = scenario.fresh ? await this.#fresh(scenario, target) : await this.#shared(scenario, target)
      this.#measurements.push({ scenario: scenario.id, target: target.name, round, values, foreignCores, notes })
      this.#log(`  ${round} ${target.name.padEnd(10)} ${shown(values)}${notes.length === 0 ? "" : `  (${notes.join("; ")})`}`)
    } catch (error) {
      this.#failures.push({ scenario: scenario.id, target: target.name, round, error: message(error) })
      this.#log(`  ${round} ${target.name.padEnd(10)} FAILED: ${message(error)}`)
    }
  }

  async #fresh(scenario: Scenario, target: Target): Promise<Measured> {
    const running = await this.#launch(target)
    try {
      return await this.#measure(scenario, running)
    } finally {
      await running.stop()
    }
  }

  async #shared(scenario: Scenario, target: Target): Promise<Measured> {
    let running = this.#lasting.get(target.name)
    if (running === undefined) {
      running = await this.#launch(target)
      this.#lasting.set(target.name, running)
      await warm(this.#harness, running, target.only === undefined)
    }
    return this.#measure(scenario, running)
  }

  async #launch(target: Target): Promise<Running> {
    try {
      return await target.launch(String(++this.#instances))
    } catch (error) {
      this.#broken.add(target.name)
      throw new Error(`could not be started and is left out: ${message(error)}`)
    }
  }

  async #measure(scenario: Scenario, running: Running): Promise<Measured> {
    const foreign = new ForeignLoad()
    const { values, notes } = await scenario.run(this.#harness, running, this.#plan.sizes)
    const foreignCores = foreign.cores()
    await running.rest?.()
    return { values, foreignCores, notes: [...notes, ...foreignNote(foreignCores)] }
  }
}
