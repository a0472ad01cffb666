# SPDX-License-Identifier: Apache-2.0
"""Runs the parts that are named, or all of them."""
import importlib
import sys
import traceback

from kit import Controller, Failed, say

PARTS = {"p1": "p1", "p4": "p4", "p5": "p5", "p2-p3": "p2_p3", "peer": "peer"}
NEEDS_A_BUILD = ("peer",)  # of somebody else's program: only when named


def main(names):
    missed, broken = 0, []
    for name in names or [p for p in PARTS if p not in NEEDS_A_BUILD]:
        if name not in PARTS:
            sys.exit(f"there is no part {name}: {' '.join(PARTS)}")
        say(f"part {name}")
        try:
            missed += importlib.import_module(PARTS[name]).main()
        except Failed as e:
            broken.append(name)
            traceback.print_exc(limit=3)
            say(f"{name} could not be carried out: {e}")
        finally:
            Controller.end_all()
    print(f"\n{missed} targets missed, {len(broken)} parts broken off")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
