// which dofs move a contact, and which way
import { band, isNode, ne, select, toU32, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import type { Vec3 } from "../../trace/vector.ts";
import type { ContactSlots } from "../collision/contact-slots.ts";
import type { WorldData, ModelView } from "../view.ts";
import { pairDofs } from "./body-dofs.ts";

/** The sign of a dof, made where it is asked for where branches leave dofs out. */
export type DofSigns = (dof: number) => Scalar;

/** +1, -1 or 0 for each dof at a slot, from bit masks; constants where all slots agree. */
function dofSigns(m: ModelView, slots: ContactSlots): (slot: Int) => DofSigns {
  const signs = slots.pairs.map((p) => pairDofs(m.model, p));
  const words = Math.ceil(m.nv / 31);
  const mask = (sign: 1 | -1, w: number) =>
    slots.table(
      `con_dofs${sign}_${w}`,
      (k) => {
        let bits = 0;
        for (let b = 0; b < 31; b++) if (signs[k].get(31 * w + b) === sign) bits |= 1 << b;
        return bits;
      },
      "i32",
    );
  const plus = Array.from({ length: words }, (_, w) => mask(1, w));
  const minus = Array.from({ length: words }, (_, w) => mask(-1, w));
  return (slot) => {
    const bits = (masks: ((s: Int) => Int)[]) => masks.map((f) => f(slot)).map((x) => (isNode(x) ? toU32(x) : x));
    const [p, n] = [bits(plus), bits(minus)];
    const signOf = (i: number): Scalar => {
      const seen = new Set(signs.map((s) => s.get(i) ?? 0));
      if (seen.size === 1) return [...seen][0];
      const test = (masks: Int[]) => ne(band(masks[Math.floor(i / 31)], (1 << (i % 31)) >>> 0), 0);
      const positive = seen.has(1) ? select(test(p), 1, 0) : 0;
      return seen.has(-1) ? select(test(n), -1, positive) : positive;
    };
    if (m.form.hasRoom) return signOf;
    const all = Array.from({ length: m.nv }, (_, i) => signOf(i));
    return (i) => all[i];
  };
}

/** What Jacobians over dofs are built from. */
export function jointMotions(m: ModelView, d: WorldData, slots: ContactSlots) {
  const cdof = Array.from({ length: m.nv }, (_, i) => d.cdof.spatial(i));
  const root = Array.from({ length: m.nv }, (_, i) => m.model.body_rootid[m.model.dof_bodyid[i]]);
  const com = new Map<number, Vec3>([...new Set(root)].map((b) => [b, d.subtree_com.vec3(b)]));
  return { cdof, root, com, signsAt: dofSigns(m, slots) };
}

/** Dofs of a part that move a contact, or none of those from them on does. */
export interface DofGroup {
  readonly dofs: readonly number[];
  /** Of the bits of a contact. Where it does so do those before it in the part, by zeros if need be. */
  moves(bits: Int): Bool;
}

/**
 * Dofs that one follows the other without a branch, in groups where they are a tree: those near its root alone move its first
 * links. Trees that branch gain nothing by groups, and their code is longer.
 */
export interface DofPart {
  readonly dofs: readonly number[];
  readonly groups: readonly DofGroup[];
}

export interface DofParts {
  readonly parts: readonly DofPart[];
  /** Which groups move the contact of a slot. */
  bits(slot: Int): Int;
}

/** Most bits of a mask. */
const MOST_GROUPS = 31;

/** The dofs of a model in their order, parted where its trees branch: a contact is moved by few of the parts. */
export function dofParts(m: ModelView, slots: ContactSlots): DofParts {
  const { nv, dof_parentid, dof_treeid } = m.model;
  const treeOf = (i: number) => dof_treeid[i];
  const children = Array.from({ length: nv }, (_, i) => dof_parentid.filter((p) => p === i).length);
  const parts: number[][] = [];
  for (let i = 0; i < nv; i++) {
    if (i > 0 && dof_parentid[i] === i - 1 && children[i - 1] === 1) parts.at(-1)!.push(i);
    else parts.push([i]);
  }
  const whole: DofPart = { dofs: parts.flat(), groups: [{ dofs: parts.flat(), moves: () => true }] };
  if (parts.length > MOST_GROUPS) return { parts: [whole], bits: () => 1 };
  const signs = slots.pairs.map((p) => pairDofs(m.model, p));
  // of each part the last dof that moves a pair
  const last = signs.map((of) => parts.map((dofs) => dofs.findLast((i) => of.has(i)) ?? -1));
  const ends = new Set(last.flat());
  const isTree = (dofs: readonly number[]) => parts.filter(([i]) => treeOf(i) === treeOf(dofs[0])).length === 1;
  const cut = (dofs: readonly number[]) =>
    dofs.reduce<number[][]>((groups, i, k) => {
      if (k === 0 || (isTree(dofs) && ends.has(i - 1))) groups.push([i]);
      else groups.at(-1)!.push(i);
      return groups;
    }, []);
  const fine = parts.map(cut);
  const groups = fine.flat().length > MOST_GROUPS ? parts.map((dofs) => [dofs]) : fine;
  const firsts = groups.flatMap((of, part) => of.map((dofs) => ({ part, first: dofs[0] })));
  const all = last.map((of) => firsts.reduce((bits, { part, first }, k) => bits | (Number(of[part] >= first) << k), 0));
  const mask = slots.table("con_parts", (k) => all[k], "i32");
  const sometimes = (bit: number) => (all.some((x) => x & bit) ? (bits: Int) => ne(band(bits, bit), 0) : () => false);
  const movesOf = (bit: number) => (all.every((x) => x & bit) ? () => true : sometimes(bit));
  let k = 0;
  return {
    parts: parts.map((dofs, at) => ({
      dofs,
      groups: groups[at].map((of) => ({ dofs: of, moves: movesOf(2 ** k++) })),
    })),
    bits: (slot) => {
      const bits = mask(slot);
      return isNode(bits) ? toU32(bits) : bits;
    },
  };
}
