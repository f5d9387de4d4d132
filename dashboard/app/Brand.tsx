import icon from "../icon.svg"

export const Brand = () => (
  <span className="brand">
    <img src={icon} alt="" />
    <span className="word">Gateway</span>
  </span>
)
