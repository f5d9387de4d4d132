/** How pictures are described for models that cannot take them, as the settings say. Pure. */

/** Plain data: threads are given it. */
export interface Bridge {
  /** The id of the model that describes them. */
  readonly model: string
  readonly prompt: string
  /** For one description. */
  readonly timeoutMs: number
  /** Different pictures of a request that are described. */
  readonly most: number
}

const PROMPT = "Describe this picture for a reader who cannot see it. Say what it shows, and repeat the texts in it word for word."
const TIMEOUT_MS = 30_000
const MOST = 10

type Settings = ReadonlyMap<string, unknown>

const textIn = (settings: Settings, name: string): string => {
  const value = settings.get(name)
  return typeof value === "string" ? value.trim() : ""
}

const numberIn = (settings: Settings, name: string, usual: number): number => {
  const value = settings.get(name)
  return typeof value === "number" && value > 0 ? value : usual
}

/** Null = pictures stay as they are. */
export const bridgeOf = (settings: Settings): Bridge | null => {
  const model = textIn(settings, "visionBridgeModel")
  if (settings.get("visionBridgeEnabled") !== true || model === "") return null
  return {
    model,
    prompt: textIn(settings, "visionBridgePrompt") || PROMPT,
    timeoutMs: numberIn(settings, "visionBridgeTimeout", TIMEOUT_MS),
    most: numberIn(settings, "visionBridgeMaxImages", MOST)
  }
}
