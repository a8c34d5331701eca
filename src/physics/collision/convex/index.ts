// the collider of every pair that MuJoCo searches
export { convexContacts } from "./contacts.ts";
export { convexDistance } from "./distance.ts";
export { vector } from "./registers.ts";
export { extent, isKind } from "./support.ts";
export {
  MOST_CONVEX_CONTACTS,
  type ConvexContacts,
  type ConvexDistance,
  type ConvexOptions,
  type ConvexShape,
  type Hull,
  type HullTables,
  type Prism,
} from "./types.ts";
