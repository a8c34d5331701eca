// what Git leaves in place of files that Git LFS holds
import type { FileTree } from "./files.ts";

/** What Git has in place of a file that Git LFS holds: a text of some 130 bytes. */
const POINTER = "version https://git-lfs.github.com/spec/";

export const LFS_REMEDY = "Run git lfs install and git lfs pull in its repository, or download the file itself.";

/** Whether bytes are a pointer of Git LFS in place of a file. */
export function isLfsPointer(bytes: Uint8Array): boolean {
  return bytes.length < 1024 && new TextDecoder().decode(bytes.subarray(0, POINTER.length)) === POINTER;
}

/** A tree that keeps in a list the files that are read of it and are pointers of Git LFS. */
export const pointersOf = (tree: FileTree, found: string[]): FileTree => ({
  ...tree,
  read(path) {
    const bytes = tree.read(path);
    if (bytes && isLfsPointer(bytes) && !found.includes(path)) found.push(path);
    return bytes;
  },
});
