// the collider of every pair that MuJoCo searches
export { convexContacts } from "./contacts.ts";
export { convexDistance } from "./distance.ts";
export {
  MOST_CONVEX_CONTACTS,
  type ConvexContacts,
  type ConvexDistance,
  type ConvexOptions,
  type ConvexShape,
  type Hull,
  type HullTables,
} from "./types.ts";
