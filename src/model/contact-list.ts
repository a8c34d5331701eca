// contacts of MuJoCo's data, one after the other
import type { MjContact, MjData } from "./mujoco.ts";

/** Each contact. Their list is a copy of all of them, each time that it is named, and stays until it is deleted. */
export function ofContacts<T>(data: MjData, of: (contact: MjContact) => T): T[] {
  const list = data.contact;
  try {
    return Array.from({ length: data.ncon }, (_, i) => {
      const contact = list.get(i)!;
      try {
        return of(contact);
      } finally {
        contact.delete();
      }
    });
  } finally {
    list.delete();
  }
}
