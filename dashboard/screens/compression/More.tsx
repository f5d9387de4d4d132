/** The fields of a group of settings, one below the other. */
import { AreaField, Check, SelectField, TextField } from "../../parts/Field.tsx"
import { type Field, isJson, type Values } from "./fieldTable.ts"

export const More = ({ fields, put, values, wrong }: {
  readonly fields: ReadonlyArray<Field>
  readonly values: Values
  readonly put: (values: Values) => void
  readonly wrong: (field: string) => string | undefined
}) => {
  const rest = fields.filter(({ kind }) => kind !== "on")
  return (
    <>
      {fields.map(({ kind, path, word }) => kind === "on" ? <Check key={path} checked={values[path] === true} onChange={(on) => put({ ...values, [path]: on })}><span className="wrap">{word}</span></Check> : null)}
      {rest.length === 0 ? null : (
        <div className="grid-fields">
          {rest.map((field) => {
            const { kind, path, word } = field
            const common = { label: word, value: String(values[path]), wrong: wrong(path), onChange: (text: string): void => put({ ...values, [path]: text }), ...(field.hint === undefined ? {} : { hint: field.hint }) }
            if (kind === "choice") return <SelectField key={path} {...common} choices={field.choices} />
            if (kind === "json") return <AreaField key={path} {...common} rows={6} wrong={isJson(common.value) ? common.wrong : "This is no JSON"} />
            return <TextField key={path} {...common} type="number" />
          })}
        </div>
      )}
    </>
  )
}
