/**
 * The formats of the simulator. A new one is a file beside these and a line here.
 */
import { chatCompletions } from "#src/simulator/formats/chatCompletions/chatCompletions.ts"
import { embeddings } from "./embeddings.ts"
import type { Format } from "./Format.ts"
import { imageEdits, images } from "./images.ts"
import { speech, transcriptions, translations } from "./audio.ts"
import { listen, speak, speechToText, textToSpeech } from "./audioVendors.ts"
import { batchEmbedContents, predict } from "./googleEmbeddings.ts"
import { embedV2, multimodalEmbeddings } from "./multimodalEmbeddings.ts"
import { generateContent } from "#src/simulator/formats/generateContent/generateContent.ts"
import { localModelServer } from "#src/simulator/formats/localModelServer/localModelServer.ts"
import { messages } from "#src/simulator/formats/messages/messages.ts"
import { classify } from "./ranking/classify.ts"
import { moderations } from "./moderations.ts"
import { rerank } from "./ranking/rerank.ts"
import { segment } from "./ranking/segment.ts"
import { files } from "./media/files.ts"
import { compose, music, song } from "./media/music.ts"
import { longPredictions, predictMedia } from "./media/predictions.ts"
import { transcripts, uploads } from "./media/transcripts.ts"
import { videoJobs, videos, videoTasks } from "./media/videos.ts"
import { documentAnalysis, ocr } from "./ocr.ts"
import { fetchers } from "./search/fetchers.ts"
import { searches } from "./search/vendors.ts"
import { responses } from "#src/simulator/formats/responses/responses.ts"

export const FORMATS: ReadonlyArray<Format> = [
  chatCompletions, messages, responses, generateContent, localModelServer, embeddings, images, imageEdits, moderations, ocr, documentAnalysis, rerank, speech, transcriptions, translations,
  classify, segment, speak, listen, textToSpeech, speechToText,
  transcripts, uploads, videoJobs, videos, videoTasks, longPredictions, predictMedia, music, compose, song, files,
  batchEmbedContents, predict, multimodalEmbeddings, embedV2, ...searches, ...fetchers
]

export const formatOf = (path: string): Format | undefined => FORMATS.find((format) => format.matches(path))
