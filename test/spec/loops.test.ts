/** Loops and timers are made by the supervisor: sources that make one themselves are refused, but for those below and why. */
import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it } from "vitest"

const root = path.resolve(import.meta.dirname, "../..")
const sources = ["actors", "src"].flatMap((folder) => fs.readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts")).map((name) => `${folder}/${name}`)).sort()

/** Files, and why each may. */
type Allowed = Readonly<Record<string, string>>

const wait = "one wait for one answer"
const rules: ReadonlyArray<{ readonly what: string; readonly pattern: RegExp; readonly allowed: Allowed }> = [
  {
    what: "endless effects", pattern: /\b(?:Effect\.(?:forever|repeat|repeatOrElse|schedule|scheduleFrom)|Stream\.(?:tick|repeat|schedule|fromSchedule|fromEffectRepeat|fromEffectSchedule))\b/, allowed: {}
  },
  {
    what: "schedules", pattern: /\bSchedule\.\w/, allowed: {
      "actors/webhook/WebhookLane.ts": "some more tries to write down one attempt",
      "src/features/cache/idempotency/stage.ts": "a few tries to tell how one claim ended",
      "src/features/files/stores/S3Client.ts": "three more tries of one request to the bucket"
    }
  },
  {
    what: "fibers of their own", pattern: /\b(?:forkScoped|forkIn|forkDetach|forkDaemon)\b/, allowed: {
      "actors/Supervisor.ts": "the supervisor",
      "src/features/a2a/Tasks.ts": "one task of an agent: its defect is its outcome and is logged, and one word to its receivers",
      "src/features/cloudAgents/http.ts": "one call of an agent, which its caller need not wait for; its outcome is stored",
      "src/features/mcp/Transports.ts": "the answer to one frame, which its client need not wait for; its defect is logged",
      "src/features/plugins/Plugins.ts": "the start or the end of one sandbox; calls that need it hear of its failure",
      "src/platform/cluster/LocalPlacement.ts": "runs a supervised loop that it is given",
      "src/platform/sandbox/Resident.ts": "the start of one process, and one call in it; calls that need them hear of their failure"
    }
  },
  {
    what: "intervals", pattern: /\bsetInterval\(/, allowed: {
      "actors/Ticker.ts": "the supervisor's timer",
      "src/cli/Launcher.ts": "holds the process open and does nothing",
      "src/platform/postgres/pglite/worker.ts": "holds the thread open and does nothing"
    }
  },
  {
    what: "single timers", pattern: /\bsetTimeout\(/, allowed: {
      "actors/request/Attempt.ts": "ends one wait of one attempt",
      "actors/request/steps/RequestWaits.ts": "the deadline of one request's drain",
      "actors/request/Try.ts": "the deadline of one try",
      "actors/request/steps/Job.ts": "the next question about one job, ended with its attempt",
      "src/bootstrap/NodeLifecycle.ts": "lets one reply leave before the stop it asked for",
      "src/cli/Launcher.ts": "the deadline of the stop",
      "src/cli/doctor/network.ts": "the deadline of one socket",
      "src/cli/remote/chat.ts": "the deadline of one answer's silence",
      "src/inference/lane/bodies/bodyWorker.ts": "forgets a body once, in its thread",
      "src/features/sessions/RedisSessionPlaces.ts": "sends once what was gathered",
      "src/platform/cluster/workers/Workers.ts": "the grace of one worker; one scrape's deadline",
      "src/platform/cluster/workers/WorkerTelemetry.ts": "one scrape's deadline",
      "src/platform/upstream/EgressProxy.ts": "the deadline of one connection to a proxy",
      "src/platform/postgres/Slot.ts": "deadlines of one statement and its cancellation",
      "src/platform/postgres/pglite/Pglite.ts": wait,
      "src/platform/postgres/tcp.ts": "the deadline of one connect",
      "src/platform/redis/IoRedisStore.ts": "deadlines of one command, one subscription and the first connect",
      "src/platform/redis/Subscriptions.ts": "the deadline of one pulse",
      "src/platform/server/body/Dropping.ts": "the deadline of one refused body",
      "src/platform/telemetry/LogSink.ts": "one retry of a full pipe",
      "src/simulator/Player.ts": "one reset of one socket",
      "src/simulator/control.ts": wait
    }
  },
  {
    what: "threads", pattern: /\bnew Worker\(/, allowed: {
      "src/inference/lane/bodies/BodyWorkers.ts": "`body threads`: a lost one is reported, the next large body starts another",
      "src/platform/accounting/tokens/TokenEstimate.ts": "`tokenizer`: a lost one is reported, the next count starts another",
      "src/platform/pages/PageReader.ts": "`page threads`: a lost one is reported, the next page starts another",
      "src/platform/postgres/pglite/Pglite.ts": "`embedded database`: a lost one is reported, the next statement starts another"
    }
  }
]

/** Without comments, which may name what code may not. */
const codeOf = (file: string): string => fs.readFileSync(path.join(root, file), "utf8").replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "")

describe("loops and timers", () => {
  it.each(rules)("$what stand only where they are listed", ({ allowed, pattern }) => {
    expect(sources.length).toBeGreaterThan(400)
    expect(sources.filter((file) => pattern.test(codeOf(file)))).toEqual(Object.keys(allowed).sort())
  })
})
