"""Clusters: bodies grouped by the loops they share, so that what remains is a tree.

grouping               which bodies belong together
charts                 which coordinates of a cluster are independent, and how the others follow
tangent_frame          a basis of the motions that loops allow, at any configuration, without naming coordinates
framing                which tangent frame a cluster gets
closing                closing on numbers: the search from anywhere, with all its tolerances
newton                 closing in kernels: Newton's rounds from nearby, and whether they arrived
following              whether a step stays with the way in which loops are assembled
alone                  a cluster by itself, and whether two are alike
sampling               closed configurations in general position; what is typical of a cluster's rows
mobility               whether the velocities that loops leave free lead anywhere
tree                   Cluster, ClusterTree, and how a mechanism becomes one
state_faults           what keeps positions from being a configuration of the robot
assembly               closed configurations of a whole robot: the nearest, a neutral one; how well conditioned they are
joint_ranges           positions of joints within limits and one turn
random_configurations  closed configurations at random, where a robot is tested
random_ways            ways to them in kernels, or straight ones
stacked_transforms     the papers' stacked matrices, to look at and to test against
"""

from kinloop.clusters.assembly import close, conditioning, loop_errors, neutral
from kinloop.clusters.charts import Chart
from kinloop.clusters.random_configurations import random_closed
from kinloop.clusters.tree import Cluster, ClusterTree, Embedding, grow

__all__ = [
    "Chart", "Cluster", "ClusterTree", "Embedding", "close", "conditioning", "grow", "loop_errors", "neutral",
    "random_closed",
]  # fmt: skip
