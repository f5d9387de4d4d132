import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration } from "#actors/ports/Configuration.ts"
import {
  backgroundDegradationKey, backgroundDegradationOf, type BackgroundDegradationSettings, taskRoutingKey, taskRoutingOf, type TaskRoutingSettings
} from "#schemas/words/TaskRouting.ts"
import * as SettingObject from "#src/features/settings/ports/settingObject.ts"
import * as Surface from "#src/management/Surface.ts"
import * as Reading from "#src/routing/tasks/reading.ts"
import { type TaskRoutingChange, TaskRoutingGroup } from "./api.ts"
import * as Rules from "./rules.ts"
import { TaskRouting } from "./TaskRouting.ts"

const changed = (before: TaskRoutingSettings, { taskModelMap, ...input }: TaskRoutingChange): TaskRoutingSettings =>
  ({ ...before, ...input, taskModelMap: { ...before.taskModelMap, ...taskModelMap } })

export const layer = HttpApiBuilder.group(Surface.make(TaskRoutingGroup), "taskRouting", Effect.fn(function*(handlers) {
  const { counts } = yield* TaskRouting
  const configuration = yield* Configuration
  const tasks = yield* SettingObject.make(taskRoutingKey, taskRoutingOf, changed)
  const background = yield* SettingObject.make(backgroundDegradationKey, backgroundDegradationOf)
  const ofTasks = (settings: TaskRoutingSettings) => ({ ...settings, stats: counts.tasks })
  const ofBackground = (settings: BackgroundDegradationSettings) => ({ ...settings, stats: counts.background })

  const detect = (body: Readonly<Record<string, unknown>>) => {
    const { settings } = configuration.current()
    const detector = Rules.detectorOf(settings)
    const said = Reading.read(body)
    const { source, task: taskType } = detector.task(said)
    const model = taskRoutingOf(settings).taskModelMap[taskType]
    return { taskType, source, model: model === "" ? null : model, intent: detector.intent(said), background: detector.background(said, false) }
  }

  return handlers.handleAll({
    get: () => Effect.map(tasks.get, ofTasks),
    put: ({ payload }) => Effect.map(tasks.put(payload), ofTasks),
    act: ({ payload }) => {
      if (payload.action === "detect") return Effect.sync(() => detect(payload.body))
      counts.resetTasks()
      return Effect.map(tasks.get, ofTasks)
    },
    getBackground: () => Effect.map(background.get, ofBackground),
    putBackground: ({ payload }) => Effect.map(background.put(payload), ofBackground),
    actBackground: () => {
      counts.resetBackground()
      return Effect.map(background.get, ofBackground)
    }
  })
}))
