/**
 * Configuration files of other programs as texts that are changed in place: a change touches the characters of its own value, so that
 * comments, order, unknown members and spellings of everything else stay as they are.
 */
import * as Schema from "effect/Schema"

/** Names of members from the outermost inwards; a place in a list is its number. */
export type Path = ReadonlyArray<string>

export interface Range {
  readonly from: number
  readonly to: number
}

/** A value that holds no other one. `value` is what it says: a text, or for everything else its spelling. */
export interface Leaf extends Range {
  readonly path: Path
  readonly isText: boolean
  readonly value: string
}

export interface Contents {
  readonly leaves: ReadonlyArray<Leaf>
  /** Comments, and lines that the format's own readers skip. */
  readonly comments: ReadonlyArray<Range>
}

/** A value to put at a path, or an item that the list at the path has to hold: it is known by its `id`. */
export type Change =
  | { readonly path: Path; readonly value: string | boolean; readonly onlyIfPresent?: boolean }
  | { readonly path: Path; readonly item: Readonly<{ id: string } & Record<string, Schema.Json>> }

/** Why a text cannot be read, or a change cannot keep the rest of it. Plain class: it is thrown inside the formats and caught in `documents.ts`. */
export class Unkept extends Schema.TaggedError<Unkept>()("Unkept", { message: Schema.String }) {}

export interface Format {
  /** Throws `Unkept`. */
  readonly read: (text: string) => Contents
  /** Throws `Unkept`. */
  readonly change: (text: string, change: Change) => string
  /** How a hidden text is spelled. */
  readonly hidden: string
}

/** Values inside each other that are read; deeper ones are refused. */
export const DEPTH_MAX = 64

const lineOf = (text: string, at: number): number => {
  let line = 1
  for (let i = text.indexOf("\n"); i !== -1 && i < at; i = text.indexOf("\n", i + 1)) line++
  return line
}

/** Reads a text from its beginning on, behind a mark of its encoding. */
export abstract class TextReader {
  at: number
  readonly comments: Array<Range> = []
  protected readonly text: string
  protected abstract readonly language: string

  constructor(text: string) {
    this.text = text
    this.at = text.startsWith("\uFEFF") ? 1 : 0
  }

  refuse(what: string): never {
    throw new Unkept({ message: `line ${lineOf(this.text, this.at)} is no ${this.language}: ${what}` })
  }
}

export const nameOf = (path: Path): string => path.join(".")

/** Replaces ranges, none of which may overlap; what is put at one place stands in the order given. */
export const spliced = (text: string, ...edits: ReadonlyArray<Range & { readonly put: string }>): string =>
  [...edits].reverse().sort((a, b) => b.from - a.from).reduce((edited, { from, put, to }) => edited.slice(0, from) + put + edited.slice(to), text)

/** The line break that a text uses. */
export const breakOf = (text: string): string => text.includes("\r\n") ? "\r\n" : "\n"
