/** One thing that `gateway doctor` looked at, and what to do about it. */
import { messageOf } from "#actors/thrown.ts"

/** `note`: worth knowing; `warning`: runs, but perhaps not as meant; `broken`: does not start or loses something. */
export type Level = "ok" | "note" | "warning" | "broken"

export interface Finding {
  readonly check: string
  readonly level: Level
  readonly text: string
  /** What to do; null when there is nothing to do. */
  readonly mend: string | null
}

export const ok = (check: string, text: string): Finding => ({ check, level: "ok", text, mend: null })
export const note = (check: string, text: string, mend: string | null = null): Finding => ({ check, level: "note", text, mend })
export const warning = (check: string, text: string, mend: string): Finding => ({ check, level: "warning", text, mend })
export const broken = (check: string, text: string, mend: string): Finding => ({ check, level: "broken", text, mend })

/** What the file system refuses is a finding, too, and the other checks go on. */
export const looking = (check: string, look: () => ReadonlyArray<Finding>): ReadonlyArray<Finding> => {
  try {
    return look()
  } catch (error) {
    return [broken(check, messageOf(error), "Let the gateway's user read it, and look again as that user.")]
  }
}

const marks: Record<Level, string> = { ok: "ok      ", note: "note    ", warning: "WARNING ", broken: "BROKEN  " }

export const render = (findings: ReadonlyArray<Finding>): string => {
  const width = Math.max(...findings.map((finding) => finding.check.length))
  const indent = " ".repeat(marks.ok.length + width + 2)
  const lines = findings.flatMap(({ check, level, mend, text }) => [
    `${marks[level]}${check.padEnd(width)}  ${text.replaceAll("\n", `\n${indent}`)}`,
    ...(mend === null ? [] : [`${indent}-> ${mend.replaceAll("\n", `\n${indent}   `)}`])
  ])
  const count = (level: Level) => findings.filter((finding) => finding.level === level).length
  const warnings = count("warning")
  return [...lines, "", `${count("broken")} broken, ${warnings} warning${warnings === 1 ? "" : "s"}, ${findings.length} checked`].join("\n")
}
