// height fields as kernels read them: tables that all worlds share
import { table } from "../trace/control.ts";
import { add, mul, type Int, type Scalar } from "../trace/scalar.ts";
import type { Surfaces } from "../model/surfaces.ts";

/** Extents of a height field (m): half along x and y, the height of elevation 1, the depth of its base below 0. */
export interface FieldExtents {
  readonly sx: Scalar;
  readonly sy: Scalar;
  readonly top: Scalar;
  readonly base: Scalar;
}

/** Reads height fields by number; where a model has one, all reads but those of elevations fold. */
export class Elevations {
  /** Rows and columns of the field that has most of both. */
  readonly mostLines: number;
  readonly nrow: (field: Int) => Int;
  readonly ncol: (field: Int) => Int;
  readonly #only: boolean;
  readonly #adr: (field: Int) => Int;
  readonly #size: (i: Int) => Scalar;
  readonly #cell: (i: Int) => Scalar;
  readonly #elevations: (i: Int) => Scalar;

  constructor({ nrow, ncol, fieldadr, fieldsize, elevations }: Surfaces) {
    this.mostLines = Math.max(...nrow.map((rows, i) => rows + ncol[i]));
    this.#only = nrow.length === 1;
    this.nrow = table("field_nrow", nrow, "i32");
    this.ncol = table("field_ncol", ncol, "i32");
    this.#adr = table("field_adr", fieldadr, "i32");
    this.#size = table("field_size", fieldsize);
    this.#cell = table("field_cell", Array.from(nrow, (_, i) => cellOf({ nrow, ncol, fieldsize }, i)).flat());
    this.#elevations = table("field_elevations", elevations);
  }

  /** A field's number, known while tracing if there is one. */
  number(field: Int): Int {
    return this.#only ? 0 : field;
  }

  extents(field: Int): FieldExtents {
    const [sx, sy, top, base] = [0, 1, 2, 3].map((k) => this.#size(add(mul(field, 4), k)));
    return { sx, sy, top, base };
  }

  /** Width of a cell along x and along y (m). */
  cell(field: Int): readonly [Scalar, Scalar] {
    return [this.#cell(mul(field, 2)), this.#cell(add(mul(field, 2), 1))];
  }

  /** Elevation at a row and a column, 0 to 1. */
  at(field: Int, row: Int, column: Int): Scalar {
    return this.#elevations(add(this.#adr(field), add(mul(row, this.ncol(field)), column)));
  }
}

/** Of a field with one line of points there are no cells. */
const cellOf = ({ nrow, ncol, fieldsize }: Pick<Surfaces, "nrow" | "ncol" | "fieldsize">, i: number): number[] => [
  (2 * fieldsize[4 * i]) / Math.max(ncol[i] - 1, 1),
  (2 * fieldsize[4 * i + 1]) / Math.max(nrow[i] - 1, 1),
];
