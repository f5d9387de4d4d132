/**
 * The SDK's request handler over the gateway's tasks. What reads tasks and keeps receivers is the SDK's own, over the record store.
 * What runs, ends or follows a task is ours: the SDK keeps a task's state in the request that began it, and such a task would stop
 * where its client leaves.
 */
import type {
  AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
  ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse, Message, SendMessageRequest,
  StreamResponse, SubscribeToTaskRequest, Task, TaskPushNotificationConfig
} from "@a2a-js/sdk"
import { A2AError, RequestMalformedError, TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError } from "@a2a-js/sdk/errors"
import { type A2ARequestHandler, DefaultRequestHandler, type ServerCallContext } from "@a2a-js/sdk/server"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import * as Refusal from "#schemas/api/Refusal.ts"
import { AlreadyEnded, type Desk, WrongErrand } from "#src/features/a2a/Desk.ts"
import { type A2aTask, isEnded } from "#src/features/a2a/ports/A2aTask.ts"
import * as Errands from "./errands.ts"
import * as Mapping from "./mapping.ts"
import type { Receivers } from "./Receivers.ts"

export interface HandlerOptions {
  readonly card: AgentCard
  readonly desk: Desk
  readonly receivers: Receivers
  readonly context: Context.Context<never>
  /** Told of a refusal that is HTTP's, before it ends the call as an internal error. */
  readonly refuse: (refusal: Refusal.Refusal) => void
}

/** Tasks of one page, where the client does not say. */
const PAGE = 50

const tokenOf = (offset: number): string => Buffer.from(`o${offset}`).toString("base64url")
const offsetOf = (token: string): number => {
  if (token === "") return 0
  const match = /^o(\d{1,9})$/.exec(Buffer.from(token, "base64url").toString("latin1"))
  if (match === null) throw new RequestMalformedError("pageToken is none that this server gave.")
  return Number(match[1])
}

const unknown = (id: string): TaskNotFoundError => new TaskNotFoundError(`Task not found: ${id.slice(0, 200)}`)
const refusedWork = (): Promise<void> => Promise.reject(new UnsupportedOperationError("Tasks run beside their requests."))
const nothingToTell = { send: () => Promise.resolve() }

const shortened = (task: Task, historyLength: number | undefined): Task =>
  historyLength === undefined ? task : { ...task, history: historyLength <= 0 ? [] : task.history.slice(-historyLength) }

export class A2aHandler implements A2ARequestHandler {
  private readonly options: HandlerOptions
  private readonly reading: DefaultRequestHandler

  constructor(options: HandlerOptions) {
    this.options = options
    const { card, desk, receivers } = options
    this.reading = new DefaultRequestHandler(card, {
      save: refusedWork,
      load: async (id) => {
        const task = await this.run(desk.find(id))
        return task === null ? undefined : Mapping.taskOf(task)
      },
      list: (params) => this.list(params)
    }, { execute: refusedWork, cancelTask: refusedWork }, undefined, {
      save: (taskId, _context, config) => this.run(receivers.put(taskId, config)),
      load: (taskId) => this.run(receivers.list(taskId)),
      delete: (taskId, _context, id) => this.run(receivers.remove(taskId, id ?? ""))
    }, nothingToTell)
  }

  getAgentCard(): Promise<AgentCard> {
    return Promise.resolve(this.options.card)
  }

  getAuthenticatedExtendedAgentCard(params: GetExtendedAgentCardRequest, context: ServerCallContext): Promise<AgentCard> {
    return this.reading.getAuthenticatedExtendedAgentCard(params, context)
  }

  getTask(params: GetTaskRequest, context: ServerCallContext): Promise<Task> {
    return this.reading.getTask(params, context)
  }

  listTasks(params: ListTasksRequest, context: ServerCallContext): Promise<ListTasksResponse> {
    return this.reading.listTasks(params, context)
  }

  createTaskPushNotificationConfig(params: TaskPushNotificationConfig, context: ServerCallContext): Promise<TaskPushNotificationConfig> {
    return this.reading.createTaskPushNotificationConfig({ ...params, id: params.id === "" ? params.taskId : params.id }, context)
  }

  getTaskPushNotificationConfig(params: GetTaskPushNotificationConfigRequest, context: ServerCallContext): Promise<TaskPushNotificationConfig> {
    return this.reading.getTaskPushNotificationConfig({ ...params, id: params.id === "" ? params.taskId : params.id }, context)
  }

  listTaskPushNotificationConfigs(params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext): Promise<ListTaskPushNotificationConfigsResponse> {
    return this.reading.listTaskPushNotificationConfigs(params, context)
  }

  deleteTaskPushNotificationConfig(params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext): Promise<void> {
    return this.reading.deleteTaskPushNotificationConfig(params, context)
  }

  async sendMessage(params: SendMessageRequest, _context: ServerCallContext): Promise<Message | Task> {
    const task = await this.begin(params)
    const { historyLength, returnImmediately } = params.configuration ?? {}
    if (returnImmediately === true) return shortened(Mapping.taskOf(task), historyLength)
    const last = await this.run(Stream.runLast(this.watch(task.id)))
    return shortened(Mapping.taskOf(last._tag === "None" ? task : last.value), historyLength)
  }

  async *sendMessageStream(params: SendMessageRequest, _context: ServerCallContext): AsyncGenerator<StreamResponse, void, undefined> {
    const task = await this.begin(params)
    const historyLength = params.configuration?.historyLength
    for await (const change of this.changes(task.id)) {
      yield change.payload?.$case === "task" ? { payload: { $case: "task", value: shortened(change.payload.value, historyLength) } } : change
    }
  }

  async cancelTask({ id }: CancelTaskRequest, _context: ServerCallContext): Promise<Task> {
    if (id.trim() === "") throw new RequestMalformedError("Task ID is required")
    const task = await this.run(this.options.desk.cancel(id))
    if (task === null) throw unknown(id)
    return Mapping.taskOf(task)
  }

  async *resubscribe({ id }: SubscribeToTaskRequest, _context: ServerCallContext): AsyncGenerator<StreamResponse, void, undefined> {
    if (id.trim() === "") throw new RequestMalformedError("Task ID is required")
    const task = await this.run(this.options.desk.find(id))
    if (task === null) throw unknown(id)
    if (isEnded(task.state)) throw new UnsupportedOperationError(`Task ${id} has ended: read it instead.`)
    yield* this.changes(id)
  }

  private async begin(params: SendMessageRequest): Promise<A2aTask> {
    const message = params.message
    if (message === undefined || message.messageId === "") throw new RequestMalformedError("message.messageId is required.")
    if (message.taskId !== "") {
      const known = await this.run(this.options.desk.find(message.taskId))
      if (known === null) throw unknown(message.taskId)
      throw new UnsupportedOperationError(isEnded(known.state)
        ? `Task ${known.id} has ended: send the message without a taskId.`
        : `Task ${known.id} is at work and takes no further messages: send the message without a taskId.`)
    }
    const errand = Errands.of(params, message)
    const config = params.configuration?.taskPushNotificationConfig
    if (config !== undefined) await this.run(this.options.receivers.check(config))
    return this.run(this.options.desk.begin(errand, (taskId) =>
      config === undefined ? Effect.void : this.options.receivers.put(taskId, { ...config, taskId, id: config.id === "" ? taskId : config.id })))
  }

  private watch(id: string): Stream.Stream<A2aTask, Refusal.Refusal> {
    return Stream.mapError(this.options.desk.watch(id), () => Refusal.unavailable("The record store cannot be reached", { code: "store_unavailable" }))
  }

  private async *changes(id: string): AsyncGenerator<StreamResponse, void, undefined> {
    let before: A2aTask | null = null
    const events = Stream.toAsyncIterable(Stream.provideContext(this.watch(id), this.options.context))
    for await (const after of events) {
      yield* Mapping.changes(before, after)
      before = after
    }
  }

  private async list(params: ListTasksRequest): Promise<ListTasksResponse> {
    const limit = params.pageSize ?? PAGE
    const offset = offsetOf(params.pageToken)
    const state = params.status === 0 ? undefined : Mapping.ofState(params.status)
    const after = params.statusTimestampAfter === undefined || params.statusTimestampAfter === "" ? undefined : Date.parse(params.statusTimestampAfter)
    if (state === null) return { tasks: [], nextPageToken: "", pageSize: limit, totalSize: 0 }
    const { tasks, total } = await this.run(this.options.desk.list({ limit, offset, state, changedAfter: after, contextId: params.contextId === "" ? undefined : params.contextId }))
    return {
      tasks: tasks.map((task) => Mapping.taskOf(params.includeArtifacts === true ? task : { ...task, artifacts: [] })),
      nextPageToken: offset + tasks.length < total && tasks.length > 0 ? tokenOf(offset + tasks.length) : "", pageSize: limit, totalSize: total
    }
  }

  /** Expected failures become the protocol's errors; a defect is logged, and shows nothing of itself. */
  private async run<A>(effect: Effect.Effect<A, WrongErrand | AlreadyEnded | Refusal.Refusal>): Promise<A> {
    const exit = await Effect.runPromiseExitWith(this.options.context)(effect)
    if (Exit.isSuccess(exit)) return exit.value
    const reason = exit.cause.reasons.find(Cause.isFailReason)?.error
    if (reason instanceof WrongErrand) throw new RequestMalformedError(reason.message)
    if (reason instanceof AlreadyEnded) throw new TaskNotCancelableError("The task has ended already.")
    const refusal = reason ?? Refusal.internal()
    if (reason === undefined) await Effect.runPromiseWith(this.options.context)(Effect.logError("a call of an agent failed", exit.cause))
    this.options.refuse(refusal)
    throw new A2AError(refusal.error.message)
  }
}
