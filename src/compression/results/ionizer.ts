/**
 * The engine `ionizer`: of a long list in JSON some elements stay, and the number of the others. Elements stay byte for byte: the first
 * and last ones, the first of each shape, and those that tell of a failure. The result is JSON, too. Pure, in linear time.
 */
/** Characters; a shorter result stays whole. */
const shortestResult = 2_000
/** Elements; a shorter list stays whole. */
const shortestList = 30
const head = 8
const tail = 2
/** Elements that stay because none before them has their members. */
const mostShapes = 10
/** Fewer elements one after the other stay. */
const fewest = 3
/** Levels of lists and objects; a deeper result stays. */
const deepest = 200
const failure = /error|fail|fatal|exception|denied|critical|panic|warn/i
const marker = /^"\[\.{3} \d+ more elements left out\]"$/
const markerOf = (count: number): string => `"[... ${count} more elements left out]"`

interface List {
  /** Where each element begins and ends. */
  readonly elements: Array<readonly [start: number, end: number]>
}

interface Frame {
  readonly list: List | null
  /** Where the element that is read begins. */
  from: number
}

const isBlank = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9

/** Lists with many elements; null: nested too deeply. `text` is JSON. */
const longLists = (text: string): ReadonlyArray<List> | null => {
  const found: Array<List> = []
  const open: Array<Frame> = []
  const trimmed = (end: number): number => {
    let last = end
    while (isBlank(text.charCodeAt(last - 1))) last--
    return last
  }
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (character === "\"") {
      do i = text.indexOf("\"", i + 1)
      while (isEscaped(text, i))
    } else if (character === "[" || character === "{") {
      if (open.length >= deepest) return null
      const list = character === "[" ? { elements: [] } : null
      open.push({ list, from: i + 1 })
    } else if (character === "," || character === "]" || character === "}") {
      const frame = open.at(-1)
      if (frame?.list != null && !(character === "]" && frame.list.elements.length === 0 && text.slice(frame.from, i).trim() === "")) {
        let from = frame.from
        while (isBlank(text.charCodeAt(from))) from++
        frame.list.elements.push([from, trimmed(i)])
      }
      if (frame !== undefined) frame.from = i + 1
      if (character !== ",") {
        open.pop()
        if (frame?.list != null && frame.list.elements.length > shortestList) found.push(frame.list)
      }
    }
  }
  return found
}

/** An odd number of backslashes stands before the quote. */
const isEscaped = (text: string, at: number): boolean => {
  let from = at
  while (text[from - 1] === "\\") from--
  return (at - from) % 2 === 1
}

const shapeOf = (element: string): string => {
  const value: unknown = JSON.parse(element)
  return Array.isArray(value) ? "list" : typeof value === "object" && value !== null ? JSON.stringify(Object.keys(value).toSorted()) : typeof value
}

interface Cut {
  readonly from: number
  readonly to: number
  readonly count: number
}

/** Runs of elements that go. */
const cutsOf = (text: string, { elements }: List): ReadonlyArray<Cut> => {
  const shapes = new Set<string>()
  const cuts: Array<Cut> = []
  let first = -1
  const end = (next: number): void => {
    const [from, to] = first === -1 ? [0, 0] : [elements[first]?.[0] ?? 0, elements[next - 1]?.[1] ?? 0]
    if (first !== -1 && next - first >= fewest && to - from > markerOf(next - first).length) cuts.push({ from, to, count: next - first })
    first = -1
  }
  elements.forEach(([from, to], i) => {
    const element = text.slice(from, to)
    const isKnown = shapes.has(shapeOf(element)) || shapes.size >= mostShapes
    if (!isKnown) shapes.add(shapeOf(element))
    const stays = !isKnown || i < head || i >= elements.length - tail || failure.test(element) || marker.test(element)
    if (stays) end(i)
    else if (first === -1) first = i
  })
  end(elements.length)
  return cuts
}

const isJson = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null
  } catch {
    return false
  }
}

/** The same text where there is nothing to leave out. */
export const compress = (text: string): string => {
  if (text.length < shortestResult || !/^\s*[[{]/.test(text) || !isJson(text)) return text
  const lists = longLists(text)
  if (lists === null) return text
  let said = ""
  let at = 0
  for (const { count, from, to } of lists.flatMap((list) => cutsOf(text, list)).toSorted((a, b) => a.from - b.from)) {
    // What stands in an element that goes is gone with it.
    if (from < at) continue
    said += text.slice(at, from) + markerOf(count)
    at = to
  }
  return at === 0 ? text : said + text.slice(at)
}
