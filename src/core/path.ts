// paths with "/"
export { dirname, isAbsolute, posix } from "node:path";
