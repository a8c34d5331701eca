// MuJoCo's WebAssembly build, where the package manager has put it
export { default as load } from "@mujoco/mujoco";
