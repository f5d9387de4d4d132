/** What the embedded server's thread and its owner say to each other. */
import { MessagePort } from "node:worker_threads"

/** File in the database directory that tells a finished first start from an interrupted one. */
export const marker = "gateway_initialized"

/** When the embedded server looks after itself. */
export interface MaintenanceOptions {
  /** ms between two looks while it is used; default 30000. */
  readonly every?: number
  /** Bytes of write-ahead log after which a checkpoint is due; default 48 MiB. */
  readonly walBytes?: number
}

export interface StartData {
  readonly directory: string
  /** fsync at every commit. */
  readonly durable: boolean
  /** A first start takes the packed database. */
  readonly packed: boolean
  readonly maintenance: MaintenanceOptions
}

export type PgliteCommand =
  | { readonly type: "connect"; readonly port: MessagePort }
  | { readonly type: "close" }

export type PgliteReport =
  | { readonly type: "ready" }
  | { readonly type: "connected" }
  | { readonly type: "closed" }
  | { readonly type: "failed"; readonly message: string }

const hasType = (value: unknown): value is { readonly type: unknown } =>
  typeof value === "object" && value !== null && "type" in value

export const isStartData = (value: unknown): value is StartData =>
  typeof value === "object" && value !== null && "directory" in value && typeof value.directory === "string"
  && "durable" in value && typeof value.durable === "boolean"
  && "packed" in value && typeof value.packed === "boolean"
  && "maintenance" in value && typeof value.maintenance === "object" && value.maintenance !== null

export const isCommand = (value: unknown): value is PgliteCommand =>
  hasType(value) && (value.type === "close"
    || (value.type === "connect" && "port" in value && value.port instanceof MessagePort))

export const isReport = (value: unknown): value is PgliteReport =>
  hasType(value) && (value.type === "ready" || value.type === "connected" || value.type === "closed"
    || (value.type === "failed" && "message" in value && typeof value.message === "string"))
