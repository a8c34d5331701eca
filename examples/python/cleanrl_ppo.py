"""CleanRL's ppo_continuous_action.py on worlds of corral, with the line that makes its environments replaced.

python cleanrl_ppo.py PATH/TO/cleanrl/cleanrl/ppo_continuous_action.py --env-id HalfCheetah-v5 --num-envs 64 --total-timesteps 1000000
"""

import re
import runpy
import sys
import tempfile
from pathlib import Path

import torch

THEIRS = re.compile(r"envs = gym\.vector\.SyncVectorEnv\(.*?\n    \)", re.DOTALL)
OURS = "envs = __import__('corral.cleanrl').cleanrl.make(args.env_id, args.num_envs, gamma=args.gamma)"

# threads that share a small network wait for each other, and take processors that worlds need
torch.set_num_threads(1)
if len(sys.argv) < 2:
    raise SystemExit(f"usage: {__doc__.splitlines()[2]}")
script = Path(sys.argv[1])
text, count = THEIRS.subn(OURS, script.read_text())
if count != 1:
    raise SystemExit(f"{script} makes its environments {count} times by gym.vector.SyncVectorEnv; one line is expected.")
with tempfile.TemporaryDirectory() as folder:
    changed = Path(folder) / script.name
    changed.write_text(text)
    sys.argv = [str(changed), *sys.argv[2:]]
    runpy.run_path(str(changed), run_name="__main__")
