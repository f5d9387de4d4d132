/** The file of variables of an installation: `.env` in the working directory. The process's own variables win over it. */
import * as path from "node:path"

export const envFile = (): string => path.resolve(".env")
