import { urlOf } from "../../app/place.ts"

/** Where a browser fetches a file's bytes from. */
export const contentOf = (id: string): string => urlOf(`/api/files/${encodeURIComponent(id)}/content`).href
