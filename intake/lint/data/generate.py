"""Writes options.jsonl of backends/slurm, the options of sbatch and srun, and
nccl.jsonl, the variables that NCCL reads, from clones of the two projects:

    python3 generate.py slurm CLONE TAG... >../../../backends/slurm/data/options.jsonl
    python3 generate.py nccl CLONE COMMIT... >nccl.jsonl

An option or variable of any of the revisions is listed, with the last that has it.
"""

import json
import re
import subprocess
import sys


def git(clone, *words):
    return subprocess.run(["git", "-C", clone, *words], check=True, capture_output=True, text=True).stdout


def slurm(clone, tag):
    source = git(clone, "show", f"{tag}:src/common/slurm_opt.c")
    for body in re.findall(r"slurm_cli_opt_t slurm_opt_\w+ = \{(.*?)\n\};", source, re.S):
        name = re.search(r'\.name = "([^"]+)"', body)
        if name is None:
            continue
        letter = re.search(r"\.val = '(.)'", body)
        common = ".set_func =" in body
        yield name[1], {
            "name": name[1],
            "letter": letter[1] if letter else "",
            "argument": re.search(r"\.has_arg = (\w+)_argument", body)[1],
            "sbatch": common or ".set_func_sbatch" in body,
            "srun": common or ".set_func_srun" in body,
        }


def nccl(clone, commit):
    short = r'NCCL_PARAM\(\w+, *"[A-Z0-9_]+"'
    full = r'DEFINE_NCCL_PARAM\(\w+, [^,]+, NCCL_\w+|"NCCL_[A-Z0-9_]+"'
    for line in git(clone, "grep", "-hoE", short + "|" + full, commit, "--", "src").splitlines():
        name = re.findall(r"[A-Z0-9_]+", line)[-1]
        if not name.startswith("NCCL_"):
            name = "NCCL_" + name
        yield name, {"name": name}


def main():
    table, clone, *revisions = sys.argv[1:]
    rows = {}
    for revision in revisions:
        names = []
        for name, row in {"slurm": slurm, "nccl": nccl}[table](clone, revision):
            key = name, names.count(name) if table == "slurm" else 0  # --wait of srun is not that of sbatch
            rows[key] = row | {"source": f"{table} {revision}"}
            names.append(name)
    for key in sorted(rows):
        print(json.dumps(rows[key]))


main()
