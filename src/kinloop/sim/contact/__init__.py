"""Contact with the ground and between bodies, and the stops and dry friction of joints.

- `ground`: what robots stand on: `Plane`, `HeightField`, and the protocol of both.
- `candidates`: the points of a robot that may touch the ground.
- `propagation`: forces propagated inward through the clusters, and the motion they cause: rows of L^-1 J^T.
- `touch`: one candidate at a pose of its body: its gap, its axes, the bound on its velocity.
- `impact`: the contact problem of one step: gaps, velocities, bounds, and where the impulses lead.
- `restitution`: what a blow gives back.
- `joint_limits`: stops, dry friction and play of joints, tendons and gears.
- `joint_stops`: these as further rows of that problem.
- `standing`: where a robot is over the ground: its points of contact, lifted and tilted bases.
- `contact_block`: how a contact can move, in all directions or in some; what is inverted of its Delassus block.
- `row_steps`: the impulse that one contact or joint takes while all others are held.
- `shapes`: gap, point and normal of pairs of shapes: spheres, capsules, boxes, planes, ...
- `solver`: impulses that meet the laws of contact: a projected Gauss-Seidel method.
- `small_steps`: its rounds of small steps, and without lifting where not everything can be lifted apart.

Contact of any two bodies, through a fixed number of slots:

- `scene`: the pairs of shapes that may touch; `scene_shapes`: these shapes by numbers, hulls of meshes among them.
- `searched_pairs`: pairs without a formula, which are looked at before steps in which some are near.
- `convex_slots`: those of convex shapes inside a kernel, as far as it can vouch for what it finds.
- `parting`: planes between those whose boxes always meet.
- `far_bodies`: pairs of bodies so far apart that no shapes of theirs need be compared.
- `near_pairs`: which of them are near, and where; `room`: of how many at once.
- `shape_poses`: where shapes are and how fast; `start_geometry`: where single free bodies push each other.
- `moving_columns`: how every coordinate moves every body, by limbs.
- `limb_rows`: rows of a contact limb by limb; `sparse_rows`: sums over the limbs that it moves.
- `contact_frame`: one contact of two bodies: its axes, rows, velocities.
- `pair_contact`: the contact problem of one step for all slots.
- `turning_friction`: friction of a contact about its normal and against rolling.
- `acceleration`: where the next sweep begins, ahead of those before.
- `slot_solver`: the solver's sweeps over a table of contacts.
"""
