/** What no text of a client's can hold. */
const mark = `gatewayJson${crypto.randomUUID().replaceAll("-", "")}n`

/**
 * Writes values that hold JSON texts, such as a call's arguments: those keep the spelling the model gave them, numbers of 64 bits
 * above all. Everything is written at once, since a call of JSON.stringify costs as much as a short text.
 */
export class JsonWriter {
  private readonly texts: Array<string> = []

  /** What stands for a JSON text in the value that `write` is given. */
  text(json: string): unknown {
    return `${mark}${this.texts.push(json) - 1};`
  }

  /** The JSON text of a value, each of its JSON texts as it is. */
  write(value: object): string {
    const written = JSON.stringify(value)
    if (this.texts.length === 0) return written
    const [first = "", ...others] = written.split(`"${mark}`)
    let out = first
    for (const piece of others) {
      const end = piece.indexOf(";")
      out += (this.texts[Number(piece.slice(0, end))] ?? "null") + piece.slice(end + 2)
    }
    return out
  }
}
