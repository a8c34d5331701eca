// a place among recorded steps, which moves within them

export class RecordedSteps {
  readonly last: number;
  at: number;

  constructor(last: number, at = 0) {
    this.last = last;
    this.at = at;
  }

  /** Moves to a step, or to the nearest that there is. Returns whether it moved. */
  seek(step: number): boolean {
    const before = this.at;
    this.at = Math.min(this.last, Math.max(0, Math.round(step) || 0));
    return this.at !== before;
  }
}
