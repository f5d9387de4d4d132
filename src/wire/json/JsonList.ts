/**
 * JSON texts of a list's items, with commas. Values that stand side by side are written at once: a call of JSON.stringify costs as
 * much as a short text.
 */
export class JsonList {
  private readonly texts: Array<string> = []
  private values: Array<object> = []

  get isEmpty(): boolean {
    return this.texts.length === 0 && this.values.length === 0
  }

  /** An item that is JSON text already. */
  text(item: string): void {
    if (this.values.length > 0) this.flush()
    this.texts.push(item)
  }

  value(item: object): void {
    this.values.push(item)
  }

  toString(): string {
    if (this.values.length > 0) this.flush()
    return this.texts.length === 1 ? this.texts[0] ?? "" : this.texts.join(",")
  }

  private flush(): void {
    this.texts.push(JSON.stringify(this.values).slice(1, -1))
    this.values = []
  }
}
