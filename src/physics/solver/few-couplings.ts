// what couples bodies, where it is little: a factor over the couplings themselves, beside that of the trees
import { array, breakIf, each, increase, loop, table, variable, when, type LocalArray } from "../../trace/control.ts";
import {
  add,
  and,
  bor,
  div,
  eq,
  ge,
  gt,
  le,
  lt,
  max,
  min,
  mul,
  ne,
  or,
  select,
  sqrt,
  sub,
  sum,
  toU32,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { add6, dot6, scale6, ZERO6, type Spatial } from "../../trace/spatial.ts";
import type { ContactLaw } from "../constraint/cone.ts";
import type { Row } from "../constraint/rows.ts";
import type { Articulated } from "../smooth/articulated.ts";
import { forceToParent, type BodyFrames } from "../smooth/body-frames.ts";
import { eachDofUp, movingSpatial } from "../smooth/each-body.ts";
import { Field, type ModelView } from "../view.ts";
import type { BodyContact, BodyContacts } from "./body-contacts.ts";
import { choleskyRows } from "./coupling.ts";
import { MOST_TILES, PART, TILE, tileList, type TileList } from "./dof-tiles.ts";
import { TileFactor, WordTies } from "./tile-factor.ts";

/** Up to TILE rows whose columns make a tile, and the bodies that they push or that carry those, leaves first. */
interface RowGroup {
  readonly places: readonly number[];
  readonly bodies: readonly number[];
}

/** Rows of one constraint together, and others beside each other. */
function groupsOf({ model }: ModelView, rows: readonly Row[]): RowGroup[] {
  const groups: number[][] = [];
  rows.forEach((row, place) => {
    const open = groups.at(-1);
    const isLong = (r: Row) => rows.filter((other) => other.type === r.type && other.id === r.id).length > 1;
    const joins = (first: Row) =>
      isLong(row) || isLong(first) ? row.type === first.type && row.id === first.id : true;
    if (open && open.length < TILE && joins(rows[open[0]])) open.push(place);
    else groups.push([place]);
  });
  return groups.map((places) => {
    const bodies = new Set<number>();
    for (const { dof } of places.flatMap((place) => rows[place].jac))
      for (let b = model.dof_bodyid[dof as number]; b > 0; b = model.body_parentid[b]) bodies.add(b);
    return { places, bodies: [...bodies].sort((a, b) => b - a) };
  });
}

/** What the couplings of an iteration are made of. */
interface Couplings {
  readonly isNewton: Bool;
  /** Second derivatives of the rows' costs. */
  readonly hessians: readonly Scalar[];
  law(index: Int, slot: Int): ContactLaw;
  contact(slot: Int): BodyContact;
  /** Accelerations, which `solveTrees` sets; `between`: what changes them on their way from the leaves to the roots and back. */
  readonly x: Field;
  solveTrees(between: () => void): void;
  /** Solves where couplings are many. */
  solveMany(): void;
}

/**
 * H = A + R Rᵀ, where A = L D Lᵀ is what the trees factor, and a column of R the force of a unit of one coupling's direction times
 * the root of its second derivative. With P = D^(-1/2) L⁻¹ R, made along the paths from a coupling's bodies to the roots, and the
 * factor of S = 1 + Pᵀ P, a solve of the trees is that of H if D^(1/2) P S⁻¹ Pᵀ D^(-1/2) u is taken from u = L⁻¹ force on its way.
 */
export class FewCouplings {
  readonly #m: ModelView;
  readonly #frames: BodyFrames;
  readonly #tree: Articulated;
  readonly #contacts: BodyContacts;
  readonly #rows: readonly Row[];
  readonly #groups: readonly RowGroup[];
  readonly #tiles: TileList = tileList(MOST_TILES);
  readonly #factor: TileFactor;
  readonly #ties: WordTies;
  /** Tiles of columns, of all couplings that there are now. */
  readonly #count = variable("couplings", 0, "i32");
  /** By tile: the group of rows, or -1 and a contact, and which of its directions. */
  readonly #list: Readonly<Record<"group" | "index" | "slot" | "part", LocalArray>>;
  /** P by tile and dof, zero outside of the dofs [from, to). */
  readonly #columns: readonly LocalArray[];
  readonly #from: LocalArray;
  readonly #to: LocalArray;
  /** The root of 1 / D. */
  readonly #root: Field;
  /** What is pushed, and is carried on to the roots: zero but for the tile that is made. */
  readonly #force: readonly Field[];
  readonly #bias: readonly Field[];

  readonly #most: number;

  /** `most`: tiles beyond which others solve. */
  constructor(
    m: ModelView,
    frames: BodyFrames,
    tree: Articulated,
    contacts: BodyContacts,
    rows: readonly Row[],
    most = MOST_TILES,
  ) {
    this.#most = Math.min(most, MOST_TILES);
    this.#m = m;
    this.#frames = frames;
    this.#tree = tree;
    this.#contacts = contacts;
    this.#rows = rows;
    this.#groups = groupsOf(m, rows);
    this.#ties = new WordTies(this.#tiles);
    this.#factor = new TileFactor(this.#tiles, this.#ties);
    const longest = this.#groups.length + contacts.rows.slots.nconmax * this.#parts + 1;
    const ints = (name: string) => array(`coupling_${name}`, longest, "i32", true);
    this.#list = { group: ints("group"), index: ints("index"), slot: ints("slot"), part: ints("part") };
    this.#columns = PART.map((r) => array(`coupling_P${r}`, MOST_TILES * m.nv, "f32", true));
    [this.#from, this.#to] = ["from", "to"].map((name) => array(`coupling_${name}`, MOST_TILES, "i32", true));
    this.#root = new Field("coupling_root", m.nv);
    this.#force = PART.map((r) => new Field(`coupling_force${r}`, m.nv));
    this.#bias = PART.map((r) => new Field(`coupling_bias${r}`, 6 * m.nbody, 6));
  }

  /** Tiles of a contact. */
  get #parts(): number {
    return Math.ceil(this.#contacts.rows.dim / TILE);
  }

  /** Solves H x = force: that of `solveTrees`, or by `solveMany`. */
  solve(couplings: Couplings): void {
    when(
      this.#find(couplings),
      () => couplings.solveTrees(() => this.#correct(couplings)),
      () => couplings.solveMany(),
    );
  }

  /** Lists the couplings of an iteration; returns whether they are few enough. */
  #find({ isNewton, hessians, law }: Couplings): Bool {
    const [list, count] = [this.#list, this.#count];
    count.set(0);
    const put = (values: Partial<Record<keyof typeof list, Int>>) => {
      for (const [name, value] of Object.entries(values)) list[name as keyof typeof list].set(count.get(), value);
      increase(count, 1);
    };
    when(isNewton, () => {
      this.#groups.forEach(({ places }, group) => {
        const any = places.reduce<Bool>((some, place) => or(some, gt(hessians[place], 0)), false);
        when(any, () => put({ group }));
      });
      if (!this.#contacts.anyCoupled) return;
      this.#contacts.rows.slots.each((index, slot) => {
        when(and(this.#contacts.isCoupled(slot), this.#pushes(law(index, slot))), () => {
          for (let part = 0; part < this.#parts; part++) put({ group: -1, index, slot, part });
        });
      });
    });
    return le(count.get(), this.#most);
  }

  /** Whether the cost of a contact is curved; along a normal that nothing moves it is not. */
  #pushes({ hessian }: ContactLaw): Bool {
    const { anyStiff, dim } = this.#contacts.rows;
    return gt(sum(Array.from({ length: anyStiff ? dim : 1 }, (_, k) => hessian(k, k))), 0);
  }

  /** Takes what couplings add from x = L⁻¹ force. */
  #correct(couplings: Couplings): void {
    const { x } = couplings;
    when(gt(this.#count.get(), 0), () => {
      each(this.#m.nv, (dof) => this.#root.set(dof, sqrt(this.#tree.inverse(dof))));
      this.#make(couplings);
      this.#factorise();
      this.#factor.solve(
        this.#each,
        (I) => {
          const sums = PART.map((r) => variable(`coupling_rhs${r}`, 0));
          this.#eachDof(this.#from.get(I), this.#to.get(I), (dof) => {
            const scaled = mul(this.#root.at(dof), x.at(dof));
            this.#at(I, dof).forEach((p, r) => sums[r].set(add(sums[r].get(), mul(p, scaled))));
          });
          return sums.map((s) => s.get());
        },
        (I, y) =>
          this.#eachDof(this.#from.get(I), this.#to.get(I), (dof) => {
            const pushed = sum(this.#at(I, dof).map((p, r) => mul(p, y[r])));
            x.set(dof, sub(x.at(dof), div(pushed, this.#root.at(dof))));
          }),
      );
    });
  }

  readonly #each = (tile: Int, body: () => void): void => when(lt(tile, this.#count.get()), body);

  #eachDof(from: Int, to: Int, body: (dof: Int) => void): void {
    loop(to, body, { start: from, label: "dofs" });
  }

  #at(tile: Int, dof: Int): Scalar[] {
    const at = add(mul(tile, this.#m.nv), dof);
    return this.#columns.map((column) => column.get(at));
  }

  /** S = 1 + Pᵀ P, as its factor. */
  #factorise(): void {
    const [from, to] = [this.#from, this.#to];
    const { there } = this.#ties;
    const shared = (I: Int, J: Int) => [max(from.get(I), from.get(J)), min(to.get(I), to.get(J))] as const;
    loop(MOST_TILES, (I) => there.set(I, toU32(0)));
    loop(this.#count.get(), (I) => {
      const bits = variable("coupling_there", toU32(0), "u32");
      loop(I, (J) => {
        const [first, end] = shared(I, J);
        bits.set(bor(bits.get(), select(lt(first, end), toU32(this.#tiles.bit(J)), toU32(0), "u32")));
      });
      there.set(I, bits.get());
    });
    const products = (I: Int, J: Int) => {
      const sums = PART.flatMap((r) =>
        PART.map((c) => (I === J && c > r ? undefined : variable(`coupling_S${r}${c}`, I === J && r === c ? 1 : 0))),
      );
      this.#eachDof(...shared(I, J), (dof) => {
        const [a, b] = [this.#at(I, dof), this.#at(J, dof)];
        sums.forEach((s, k) => s?.set(add(s.get(), mul(a[Math.floor(k / TILE)], b[k % TILE]))));
      });
      return sums;
    };
    this.#factor.factor(this.#each, {
      diagonal: (J) => products(J, J),
      below: (I, J) => products(I, J).map((s) => s!),
    });
  }

  /** P, a tile at a time. */
  #make({ hessians, law, contact }: Couplings): void {
    const [m, list] = [this.#m, this.#list];
    let end = 0;
    const starts = [0, ...this.#groups.map(({ bodies }) => (end += bodies.length))];
    const [start, path] = [
      table("coupling_start", starts, "i32"),
      table("coupling_path", [...this.#groups.flatMap(({ bodies }) => bodies), 0], "i32"),
    ];
    loop(this.#count.get(), (t) => {
      this.#eachDof(0, m.nv, (dof) => this.#columns.forEach((column) => column.set(add(mul(t, m.nv), dof), 0)));
      this.#from.set(t, m.nv);
      this.#to.set(t, 0);
      const group = list.group.get(t);
      const ofRows = () => {
        this.#groups.forEach(({ places }, k) => when(eq(group, k), () => this.#pushRows(places, hessians)));
        loop(start(add(group, 1)), (e) => this.#take(t, path(e)), { start: start(group), label: "path" });
      };
      const ofContact = () => {
        const slot = list.slot.get(t);
        const at = contact(slot);
        this.#pushContact(at, law(list.index.get(t), slot), list.part.get(t));
        const ends = [at.first, at.second].map((side, k) => variable(`end${k}`, side?.body ?? 0, "i32"));
        loop(
          m.nbody,
          () => {
            // parents have smaller ids
            const body = max(ends[0].get(), ends[1].get());
            breakIf(eq(body, 0));
            this.#take(t, body);
            for (const e of ends) e.set(select(eq(e.get(), body), m.body_parentid.at(body), e.get(), "i32"));
          },
          { label: "path" },
        );
      };
      if (this.#groups.length === 0) ofContact();
      else if (this.#contacts.anyCoupled) when(ge(group, 0), ofRows, ofContact);
      else ofRows();
    });
  }

  #pushRows(places: readonly number[], hessians: readonly Scalar[]): void {
    places.forEach((place, r) => {
      const [root, force] = [sqrt(max(hessians[place], 0)), this.#force[r]];
      for (const { dof, value } of this.#rows[place].jac) force.set(dof, add(force.at(dof), mul(root, value)));
    });
  }

  #pushContact(at: BodyContact, law: ContactLaw, part: Int): void {
    const { dim } = this.#contacts.rows;
    const L = choleskyRows(law, dim);
    const entry = (i: number, k: number): Scalar => (k < dim && k <= i ? L[i][k] : 0);
    const column = (i: number, r: number): Scalar => {
      const later = this.#parts > 1 ? entry(i, TILE + r) : 0;
      return later === 0 ? select(eq(part, 0), entry(i, r), 0) : select(eq(part, 0), entry(i, r), later);
    };
    for (const [side, sign] of [[at.first, 1] as const, [at.second, -1] as const]) {
      if (!side) continue;
      this.#bias.forEach((bias, r) => {
        const wrench = side.rows.reduce<Spatial>((total, row, i) => add6(total, scale6(row, column(i, r))), ZERO6);
        bias.setRow(side.body, scale6(wrench, sign));
      });
    }
  }

  /** Carries what is pushed at a body on to its parent; its dofs take their part. */
  #take(t: Int, body: Int): void {
    const [m, frames, tree, bias] = [this.#m, this.#frames, this.#tree, this.#bias];
    const carried = bias.map((b) => movingSpatial("carried", b.spatial(body)));
    for (const b of bias) b.setRow(body, ZERO6);
    const [from, to] = [this.#from, this.#to];
    eachDofUp(m, body, (dof) => {
      const [axis, U, inverse, root] = [
        frames.axis(dof),
        tree.inertiaAlong(dof),
        tree.inverse(dof),
        this.#root.at(dof),
      ];
      from.set(t, min(from.get(t), dof));
      to.set(t, max(to.get(t), add(dof, 1)));
      carried.forEach((p, r) => {
        const u = sub(this.#force[r].at(dof), dot6(axis, p.get()));
        this.#force[r].set(dof, 0);
        this.#columns[r].set(add(mul(t, m.nv), dof), mul(u, root));
        p.add(scale6(U, mul(u, inverse)));
      });
    });
    const parent = m.body_parentid.at(body);
    when(ne(parent, 0), () =>
      bias.forEach((b, r) => b.setRow(parent, add6(b.spatial(parent), forceToParent(frames, body, carried[r].get())))),
    );
  }
}
