# SPDX-License-Identifier: BSD-3-Clause
"""Hard disks in HOOMD-blue's component: prints the hash of the last state, which is the same on any
number of ranks."""

import hoomd
import hoomd.manymove
import numpy as np

SIDE, SPACING = 40, 1.3
simulation = hoomd.Simulation(hoomd.device.CPU(), seed=1)
snapshot = hoomd.Snapshot(simulation.device.communicator)
if snapshot.communicator.rank == 0:
    sites = np.indices((SIDE, SIDE)).reshape(2, -1).T + 0.5
    snapshot.configuration.box = [SIDE * SPACING, SIDE * SPACING, 0, 0, 0, 0]
    snapshot.particles.N = SIDE**2
    snapshot.particles.types = ["A"]
    snapshot.particles.position[:, :2] = SPACING * (sites - SIDE / 2)
simulation.create_state_from_snapshot(snapshot)
mc = hoomd.manymove.HardDisks(default_d=0.16, sweeps_per_step=4, threads=1)
mc.shape["A"] = dict(diameter=1.0)
simulation.operations.integrator = mc
simulation.run(50)
state = mc.state_hash
if simulation.device.communicator.rank == 0:
    print(f"state hash {state}")
