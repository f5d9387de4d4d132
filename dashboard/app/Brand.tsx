import { usePreferences } from "../api/preferences.ts"
import icon from "../icon.svg"

export const Brand = () => {
  const { instanceName, logo } = usePreferences()
  return (
    <span className="brand">
      <img src={logo === "" ? icon : logo} alt="" />
      <span className="word">{instanceName}</span>
    </span>
  )
}
