/** How often the test's document stands in a body, whatever the family calls the part. */
import { pdf } from "./Driver.ts"

export const documentsIn = (body: unknown): number => JSON.stringify(body).split(pdf).length - 1
