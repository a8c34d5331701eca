// meshes that MuJoCo does not read, as OBJ, by Assimp, which is loaded if it is there (docs/decisions/0135)
import { mat4, vec3 } from "gl-matrix";
import { CorralError } from "../core/errors.ts";
import { inLine } from "../core/show.ts";

/** What is used of assimpjs. */
interface Assimp {
  readonly FileList: new () => { AddFile(name: string, bytes: Uint8Array): void };
  ConvertFileList(
    files: object,
    format: "assjson",
  ): {
    IsSuccess(): boolean;
    FileCount(): number;
    GetFile(at: number): { GetContent(): Uint8Array };
  };
}

/** A node of a scene: a matrix by rows, and which meshes it shows. */
interface Node {
  readonly transformation: readonly number[];
  readonly meshes?: readonly number[];
  readonly children?: readonly Node[];
}

interface Scene {
  readonly rootnode: Node;
  readonly meshes?: readonly { readonly vertices: readonly number[]; readonly faces: readonly (readonly number[])[] }[];
}

/** By a name that is not resolved before it is needed. */
const PACKAGE: string = "assimpjs";

/** What is read of these is all in one file. */
const READ = /\.(dae|ply)$/i;
/** What a binary STL has before its triangles, and bytes of each. */
const STL = { header: 84, triangle: 50 };

/** Whether a mesh is one that MuJoCo refuses and that is read here: Collada, PLY, or an STL that is a text. */
export function isForAssimp(name: string, bytes: Uint8Array): boolean {
  if (READ.test(name)) return true;
  if (!/\.stl$/i.test(name) || bytes.length < STL.header) return false;
  const count = new DataView(bytes.buffer, bytes.byteOffset).getUint32(STL.header - 4, true);
  return isText(bytes) && bytes.length !== STL.header + STL.triangle * count;
}

/** Whether an STL begins as one that is a text, of which programs also write the words in capitals and a byte order mark. */
const isText = (bytes: Uint8Array): boolean =>
  /^\s*solid\b/i.test(new TextDecoder().decode(bytes.subarray(0, STL.header)));

/** A mesh as Assimp takes it: of an STL that is a text it knows words in small letters alone. */
function forAssimp(name: string, bytes: Uint8Array): Uint8Array {
  if (!/\.stl$/i.test(name) || !isText(bytes)) return bytes;
  return new TextEncoder().encode(new TextDecoder().decode(bytes).trimStart().toLowerCase());
}

async function assimp(name: string): Promise<Assimp> {
  try {
    const module = (await import(PACKAGE)) as { readonly default: () => Promise<Assimp> };
    return await module.default();
  } catch (cause) {
    throw new CorralError(
      "mesh-reader-missing",
      `MuJoCo does not read ${inLine(name)}, and what would convert it does not come along with corral: npm install assimpjs (MIT; Assimp is BSD), or convert it to STL or OBJ, and name that.`,
      { file: name },
      { cause },
    );
  }
}

/** What Assimp reads of a file; undefined where it refuses it, or has no room for it. */
function sceneOf(reader: Assimp, name: string, bytes: Uint8Array): Scene | undefined {
  try {
    const files = new reader.FileList();
    files.AddFile(name, forAssimp(name, bytes));
    const result = reader.ConvertFileList(files, "assjson");
    if (!result.IsSuccess() || result.FileCount() === 0) return undefined;
    return JSON.parse(new TextDecoder().decode(result.GetFile(0).GetContent())) as Scene;
  } catch {
    return undefined;
  }
}

/**
 * A mesh as the text of an OBJ, in metres. Axes are as they are in the file, whatever Collada's up_axis says: URDFs are
 * drawn so by RViz, and their authors see them there.
 * @throws CorralError mesh-reader-missing; bad-mesh where it cannot be read or has no faces
 */
export async function meshAsObj(name: string, bytes: Uint8Array): Promise<string> {
  const scene = sceneOf(await assimp(name), name, bytes);
  const vertices: string[] = [];
  const faces: string[] = [];
  const add = (node: Node, to: mat4) => {
    for (const at of node.meshes ?? []) {
      const mesh = scene!.meshes![at];
      const first = vertices.length + 1;
      for (let k = 0; k < mesh.vertices.length; k += 3) {
        const [x, y, z] = vec3.transformMat4([0, 0, 0], mesh.vertices.slice(k, k + 3), to);
        vertices.push(`v ${x} ${y} ${z}`);
      }
      // points and lines have no surface
      for (const face of mesh.faces) if (face.length >= 3) faces.push(`f ${face.map((i) => first + i).join(" ")}`);
    }
    for (const child of node.children ?? []) add(child, mat4.multiply(mat4.create(), to, matrix(child)));
  };
  // the root turns up_axis to y and has the file's unit: only that is kept
  if (scene)
    add(scene.rootnode, mat4.fromScaling(mat4.create(), mat4.getScaling(vec3.create(), matrix(scene.rootnode))));
  if (faces.length === 0 || vertices.some((line) => line.includes("NaN")))
    throw new CorralError(
      "bad-mesh",
      `${inLine(name)} cannot be read as a mesh (${scene ? "no triangles of finite numbers in it" : "Assimp refuses it"}). Convert it to STL or OBJ, and name that.`,
      { file: name },
    );
  return `${vertices.join("\n")}\n${faces.join("\n")}\n`;
}

/** A node's matrix, by columns. */
const matrix = (node: Node): mat4 => mat4.transpose(mat4.create(), node.transformation);
