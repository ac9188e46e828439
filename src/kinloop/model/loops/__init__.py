"""What closes loops: every kind of loop and coupling, each saying everything about itself.

closure                LoopClosure, the protocol of them all; Loop, the base of equations phi(q) = 0
body_loop              BodyLoop, the base of loops between frames on two bodies
loop_joint             LoopJoint: a joint of any type that closes a loop
rod                    Rod: a massless rod of fixed length
loop_function          LoopFunction: phi of the positions of named joints
coupling               Coupling, the base of explicit ones, q_dependent = gamma(q_independent)
linear_coupling        LinearCoupling: gears, belts, mimics, linear differentials
polynomial_coupling    PolynomialCoupling
function_coupling      FunctionCoupling: any function of joint positions

loop_rows              LoopRows: phi, K, k of a closure; stacked_rows of several
row_writer             RowWriter: the rows of which joint types and body loops are composed
chain_motion           motion of a body seen from an ancestor, what the rows are made of
traced_function        derivatives of users' functions
picture                what a viewer draws of a closure
"""

from kinloop.model.loops.body_loop import BodyLoop
from kinloop.model.loops.closure import Loop, LoopClosure
from kinloop.model.loops.coupling import Coupling
from kinloop.model.loops.function_coupling import FunctionCoupling
from kinloop.model.loops.linear_coupling import LinearCoupling
from kinloop.model.loops.loop_function import LoopFunction
from kinloop.model.loops.loop_joint import LoopJoint
from kinloop.model.loops.loop_rows import LoopRows, stacked_rows
from kinloop.model.loops.picture import BarPicture, Mark, Picture
from kinloop.model.loops.polynomial_coupling import PolynomialCoupling
from kinloop.model.loops.rod import Rod
from kinloop.model.loops.row_writer import RowUnit, RowWriter

__all__ = [
    "BarPicture", "BodyLoop", "Coupling", "FunctionCoupling", "LinearCoupling", "Loop", "LoopClosure", "LoopFunction",
    "LoopJoint", "LoopRows", "Mark", "Picture", "PolynomialCoupling", "Rod", "RowUnit", "RowWriter", "stacked_rows",
]  # fmt: skip
