/** A push notification of a task in the version in which its receiver was registered. */
import { V1PushNotificationSerializer } from "@a2a-js/sdk/server"
import { V03PushNotificationSerializer } from "@a2a-js/sdk/compat/v0_3/server"
import type { A2aTask } from "#src/features/a2a/ports/A2aTask.ts"
import * as Mapping from "./mapping.ts"

const newer = new V1PushNotificationSerializer()
const older = new V03PushNotificationSerializer()

export const notification = (task: A2aTask, version: string): { readonly body: string; readonly contentType: string } => {
  const value = Mapping.taskOf(task)
  return (version === "1.0" ? newer : older).serialize({ payload: { $case: "task", value } }, value)
}
