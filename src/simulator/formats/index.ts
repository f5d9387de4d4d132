/**
 * The formats the simulator speaks. A new one is a file beside these and a line here.
 */
import { chatCompletions } from "./chatCompletions.ts"
import { embeddings } from "./embeddings.ts"
import type { Format } from "./Format.ts"
import { generateContent } from "./generateContent.ts"
import { localModelServer } from "./localModelServer.ts"
import { messages } from "./messages.ts"
import { responses } from "./responses.ts"

export const FORMATS: ReadonlyArray<Format> = [chatCompletions, messages, responses, generateContent, localModelServer, embeddings]

export const formatOf = (path: string): Format | undefined => FORMATS.find((format) => format.matches(path))
