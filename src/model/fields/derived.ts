// quantities of mjData that each step computes anew
import { group, row } from "./row.ts";

export const DERIVED_FIELDS = group("derived", [
  // mj_kinematics
  row("xpos", "f32", ["nbody", 3], "m", "position of the body frame"),
  row("xquat", "f32", ["nbody", 4], "", "orientation of the body frame"),
  row("xmat", "f32", ["nbody", 9], "", "orientation of the body frame, row-major"),
  row("xipos", "f32", ["nbody", 3], "m", "position of the body's centre of mass"),
  row("ximat", "f32", ["nbody", 9], "", "orientation of the body's inertia, row-major"),
  row("xanchor", "f32", ["njnt", 3], "m", "position of the joint anchor"),
  row("xaxis", "f32", ["njnt", 3], "", "joint axis"),
  row("geom_xpos", "f32", ["ngeom", 3], "m", "position of the geom"),
  row("geom_xmat", "f32", ["ngeom", 9], "", "orientation of the geom, row-major"),
  row("site_xpos", "f32", ["nsite", 3], "m", "position of the site"),
  row("site_xmat", "f32", ["nsite", 9], "", "orientation of the site, row-major"),
  row("cam_xpos", "f32", ["ncam", 3], "m", "position of the camera"),
  row("cam_xmat", "f32", ["ncam", 9], "", "orientation of the camera, row-major"),

  // mj_comPos
  row("subtree_com", "f32", ["nbody", 3], "m", "centre of mass of the subtree"),
  row("cdof", "f32", ["nv", 6], "", "com-based motion axis (rotation, translation)"),
  row("cinert", "f32", ["nbody", 10], "kg, kg m, kg m^2", "com-based body inertia and mass"),

  // mj_tendon, mj_transmission
  row("ten_J", "f32", ["nJten"], "", "tendon Jacobian, sparse"),
  row("ten_length", "f32", ["ntendon"], "m, rad", "tendon length"),
  row("actuator_length", "f32", ["nout"], "m, rad", "actuator length"),
  row("actuator_moment", "f32", ["nJmom"], "", "actuator moment, sparse"),

  // mj_makeM, mj_factorM
  row("crb", "f32", ["nbody", 10], "kg, kg m, kg m^2", "com-based composite inertia and mass"),
  row("M", "f32", ["nC"], "kg, kg m, kg m^2", "inertia matrix, sparse"),
  row("qLD", "f32", ["nC"], "", "L'DL factor of M, sparse"),
  row("qLDiagInv", "f32", ["nv"], "", "1 / diag(D)"),

  // mj_fwdVelocity
  row("ten_velocity", "f32", ["ntendon"], "m/s, rad/s", "tendon velocity"),
  row("actuator_velocity", "f32", ["nout"], "m/s, rad/s", "actuator velocity"),
  row("cvel", "f32", ["nbody", 6], "rad/s, m/s", "com-based velocity (rotation, translation)"),
  row("cdof_dot", "f32", ["nv", 6], "", "time derivative of cdof"),
  row("qfrc_bias", "f32", ["nv"], "N, N m", "Coriolis, centrifugal and gravitational force"),
  row("qfrc_spring", "f32", ["nv"], "N, N m", "passive spring force"),
  row("qfrc_damper", "f32", ["nv"], "N, N m", "passive damper force"),
  row("qfrc_gravcomp", "f32", ["nv"], "N, N m", "gravity compensation force"),
  row("qfrc_fluid", "f32", ["nv"], "N, N m", "force of the medium"),
  row("qfrc_adhesion", "f32", ["nv"], "N, N m", "force of adhesive contacts"),
  row("qfrc_passive", "f32", ["nv"], "N, N m", "total passive force"),
  row("subtree_linvel", "f32", ["nbody", 3], "m/s", "velocity of the subtree's centre of mass"),
  row("subtree_angmom", "f32", ["nbody", 3], "kg m^2/s", "angular momentum about the subtree's centre of mass"),

  // mj_fwdActuation, mj_fwdAcceleration
  row("act_dot", "f32", ["na"], "1/s", "time derivative of act"),
  row("actuator_force", "f32", ["nout"], "N, N m", "actuator force in actuation space"),
  row("qfrc_actuator", "f32", ["nv"], "N, N m", "actuator force in joint space"),
  row("qfrc_smooth", "f32", ["nv"], "N, N m", "net unconstrained force"),
  row("qacc_smooth", "f32", ["nv"], "m/s^2, rad/s^2", "unconstrained acceleration"),

  // mj_collision: one slot per possible contact
  row("ncon", "i32", [1], "", "number of contacts"),
  row("contact_dist", "f32", ["nconmax"], "m", "distance between nearest points, negative: penetration"),
  row("contact_pos", "f32", ["nconmax", 3], "m", "midpoint between the geoms"),
  row("contact_frame", "f32", ["nconmax", 9], "", "rows: normal from geom 1 to geom 2, two tangents"),
  row("contact_includemargin", "f32", ["nconmax"], "m", "a contact nearer than this makes constraint rows"),
  row(
    "contact_friction",
    "f32",
    ["nconmax", 5],
    "1, 1, m, m, m",
    "friction: tangent 1, 2, spin, roll 1, 2; 0 where its dim has no such direction",
  ),
  row("contact_dim", "i32", ["nconmax"], "", "dimensionality: 1, 3, 4 or 6"),
  row("contact_geom", "i32", ["nconmax", 2], "", "the two geoms"),
  row("contact_force", "f32", ["nconmax", 6], "N, N m", "force and torque in the contact frame (mj_contactForce)"),
  row("contact_efc_address", "i32", ["nconmax"], "", "first constraint row, -1: none"),

  // mj_makeConstraint: equality, friction loss, limits, contacts
  row("ne", "i32", [1], "", "number of equality rows"),
  row("nf", "i32", [1], "", "number of friction loss rows"),
  row("nl", "i32", [1], "", "number of limit rows"),
  row("nefc", "i32", [1], "", "number of constraint rows"),
  row("efc_type", "i32", ["njmax"], "", "mjtConstraint"),
  row("efc_id", "i32", ["njmax"], "", "object of the row's type"),
  row("efc_J", "f32", ["njmax", "nv"], "", "constraint Jacobian, dense"),
  row("efc_pos", "f32", ["njmax"], "m, rad", "constraint position"),
  row("efc_margin", "f32", ["njmax"], "m, rad", "inclusion margin"),
  row("efc_frictionloss", "f32", ["njmax"], "N, N m", "friction loss"),
  row("efc_D", "f32", ["njmax"], "kg", "constraint mass"),
  row("efc_R", "f32", ["njmax"], "1/kg", "inverse constraint mass"),
  row("efc_vel", "f32", ["njmax"], "m/s, rad/s", "velocity in constraint space"),
  row("efc_aref", "f32", ["njmax"], "m/s^2, rad/s^2", "reference acceleration"),

  // mj_fwdConstraint
  row("efc_force", "f32", ["njmax"], "N, N m", "force in constraint space"),
  row("qfrc_constraint", "f32", ["nv"], "N, N m", "constraint force"),
  row(
    "qfrc_inverse",
    "f32",
    ["nv"],
    "N, N m",
    "force that makes qacc beside the solver's: actuators and what is applied (mj_inverse, if the solver converged and without noslip)",
  ),
  row("qacc", "f32", ["nv"], "m/s^2, rad/s^2", "acceleration"),
  row("solver_niter", "i32", [1], "", "iterations of the constraint solver"),

  // mj_sensor, mj_rnePostConstraint
  row("sensordata", "f32", ["nsensordata"], "", "sensor outputs"),
  row("cacc", "f32", ["nbody", 6], "rad/s^2, m/s^2", "com-based acceleration (rotation, translation)"),
  row("cfrc_int", "f32", ["nbody", 6], "N m, N", "com-based interaction force with the parent"),
  row("cfrc_ext", "f32", ["nbody", 6], "N m, N", "com-based external force"),
]);
