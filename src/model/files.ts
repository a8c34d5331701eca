// the files MuJoCo reads while it compiles a model, shown to its file system without copying folders into it
import type { MainModule } from "./mujoco.ts";

/** A read-only tree. Paths use "/" and start without one. */
export interface FileTree {
  /** Bytes of a file, without reading it; undefined if there is none that may be read. */
  size(path: string): number | undefined;
  read(path: string): Uint8Array | undefined;
  isDirectory(path: string): boolean;
  /** Names of the folders in one, but for hidden ones; there only where the tree is a machine's. */
  folders?(path: string): readonly string[];
}

/** Assets in memory, keyed by path. */
export function memoryTree(assets: Readonly<Record<string, Uint8Array>>): FileTree {
  const paths = Object.keys(assets);
  const read = (path: string) => (Object.hasOwn(assets, path) ? assets[path] : undefined);
  return {
    size: (path) => read(path)?.length,
    read,
    isDirectory: (path) => path === "" || paths.some((p) => p.startsWith(`${path}/`)),
  };
}

/** The parts of Emscripten's file system nodes that are used here. */
interface FsNode {
  id: number;
  mode: number;
  path: string;
  size?: number;
  node_ops: object;
  stream_ops: object;
}
interface FsStream {
  node: FsNode;
  position: number;
}

const DIRECTORY = 0o040555;
const FILE = 0o100444;
const ENOENT = 44;
const EINVAL = 28;
let mounts = 0;

/** Emscripten file system operations over a tree. `time`: when its files are said to have been written. */
function fileSystem(fs: MainModule["FS"], tree: FileTree, time: Date) {
  const fail = (errno: number) => new fs.ErrnoError(errno);

  function node(parent: FsNode | null, name: string, path: string, size?: number): FsNode {
    const made: FsNode = fs.createNode(parent, name, size === undefined ? DIRECTORY : FILE, 0);
    made.path = path;
    made.size = size;
    made.node_ops = nodeOps;
    made.stream_ops = streamOps;
    return made;
  }

  const nodeOps = {
    lookup(parent: FsNode, name: string): FsNode {
      const path = parent.path === "" ? name : `${parent.path}/${name}`;
      const isDirectory = tree.isDirectory(path);
      // the program looks at many files that it never reads
      const size = isDirectory ? undefined : tree.size(path);
      if (size === undefined && !isDirectory) throw fail(ENOENT);
      return node(parent, name, path, size);
    },
    getattr: (of: FsNode) => ({
      dev: 1,
      ino: of.id,
      mode: of.mode,
      nlink: 1,
      uid: 0,
      gid: 0,
      rdev: 0,
      size: of.size ?? 0,
      atime: time,
      mtime: time,
      ctime: time,
      blksize: 4096,
      blocks: 1,
    }),
  };
  const streamOps = {
    read(stream: FsStream, buffer: Uint8Array, offset: number, length: number, position: number): number {
      const bytes = tree.read(stream.node.path);
      if (!bytes) throw fail(ENOENT);
      const part = bytes.subarray(position, position + length);
      buffer.set(part, offset);
      return part.length;
    },
    llseek(stream: FsStream, offset: number, whence: number): number {
      const from = [0, stream.position, stream.node.size ?? 0][whence] ?? 0;
      if (from + offset < 0) throw fail(EINVAL);
      return from + offset;
    },
  };
  return { mount: () => node(null, "/", "") };
}

/** Runs a call while a tree is mounted; the path of a file in MuJoCo's eyes is `at(path)`. */
export function withTree<T>(mujoco: MainModule, tree: FileTree, call: (root: string) => T): T {
  // never the same place and time twice: MuJoCo caches assets by path, of attached models a relative one, and time
  const root = `/files${++mounts}`;
  mujoco.FS.mkdir(root);
  mujoco.FS.mount(fileSystem(mujoco.FS, tree, new Date(1000 * mounts)), {}, root);
  try {
    return call(root);
  } finally {
    mujoco.FS.unmount(root);
    mujoco.FS.rmdir(root);
  }
}
