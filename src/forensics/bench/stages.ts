// device time by stage
export interface Stages {
  readonly note: string;
  readonly parts: readonly { readonly name: string; readonly nanoseconds: number }[];
}
