package intake

import (
	"strings"
	"testing"
)

// TestProcesses: nodes and GPUs of a launch are those that the command says which starts its
// processes, each of which has a GPU unless it starts others.
func TestProcesses(t *testing.T) {
	const program = "pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --micro-batch-size 1 --seq-length 64"
	const job = "#!/bin/bash\n#SBATCH --nodes=4\n"
	for _, c := range []struct {
		script string
		o      Options
		want   string
	}{
		{script: "mpirun -np 16 --npernode 8 python " + program, want: "nodes = 2 gpus_per_node = 8"},
		{script: "mpirun -np 16 -N 8 -x PATH python " + program, want: "nodes = 2 gpus_per_node = 8"},
		{script: "mpirun -n 16 --map-by ppr:4:node:PE=8 python " + program, want: "nodes = 4 gpus_per_node = 4"},
		{script: "mpiexec -n 32 -ppn 8 python " + program, want: "nodes = 4 gpus_per_node = 8"},
		{script: "mpirun -np 8 -H a:4,b:4 python " + program, want: "nodes = 2 gpus_per_node = 4"},
		{script: "mpirun -np 8 -H a:4,b:2 python " + program, want: "nodes = var.nodes"},
		{script: "mpirun -np 16 --hostfile h python " + program, want: "nodes = var.nodes"},
		{script: "mpirun -np 16 --hostfile h python " + program, o: Options{GPUs: 4}, want: "nodes = 4 gpus_per_node = 4"},
		{script: "mpirun -np 16 --hostfile h python " + program, o: Options{Cluster: "dgx_h100"}, want: "nodes = 2"},
		{script: "mpirun -np 15 --npernode 8 python " + program, want: "nodes = var.nodes gpus_per_node = 8"},
		{script: "mpirun -np $N --npernode 8 python " + program, want: "nodes = var.nodes gpus_per_node = 8"},
		{script: "mpirun -np 2 --npernode 1 torchrun --nproc_per_node 8 " + program, want: "nodes = 2 gpus_per_node = 8"},
		{script: "srun -N4 -n32 python " + program, want: "nodes = 4 gpus_per_node = 8"},
		{script: "srun --ntasks=16 --gres=gpu:a100:8 python " + program, want: "nodes = 2 gpus_per_node = 8"},
		{script: "srun -N 4 --ntasks-per-node=1 bash -c 'torchrun --nproc_per_node 8 " + program + "'", want: "nodes = 4 gpus_per_node = 8"},
		{script: job + "srun --ntasks-per-node 8 python " + program, want: "nodes = 4 gpus_per_node = 8"},
		{script: job + "mpirun -np 16 python " + program, want: "nodes = 4 gpus_per_node = 4"},
		{script: job + "srun -n 32 python " + program, want: "nodes = 4 gpus_per_node = 8"},
		{script: job + "#SBATCH --ntasks-per-node=8\nsrun python " + program, want: "nodes = 4 gpus_per_node = 8"},
		{script: job + "#SBATCH --ntasks-per-node=1\nsrun torchrun --nproc_per_node 2 " + program, want: "nodes = 4 gpus_per_node = 2"},
		{script: "jsrun -n 24 -a 1 -g 1 -r 6 python " + program, want: "nodes = 4 gpus_per_node = 6"},
		{script: "jsrun -n 4 -r 1 -a 6 -g 6 -c 42 python " + program, want: "nodes = 4 gpus_per_node = 6"},
		{script: "jsrun -n 4 -a 6 -g 6 python " + program, want: "nodes = var.nodes"},
		{script: "sbatch --nodes 4 --gpus-per-node=8 --wrap=\"srun torchrun --nproc_per_node 8 " + program + "\"", want: "nodes = 4 gpus_per_node = 8"},
		{script: "sbatch -N 2 -t 60 --wrap 'srun --ntasks-per-node=4 python " + program + "'", want: "nodes = 2 gpus_per_node = 4"},
		{script: "deepspeed --include localhost:0,1,2,3 " + program, want: "nodes = 1 gpus_per_node = 4"},
		{script: "deepspeed --include=a:0,1@b:0,1 " + program, want: "nodes = 2 gpus_per_node = 2"},
		{script: "deepspeed --include localhost:$GPUS " + program, want: "nodes = var.nodes"},
		{script: "aprun -n 16 -N 4 python " + program, want: "nodes = 4 gpus_per_node = 4"},
	} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(c.script + "\n")}}, c.o)
		if diags.HasErrors() {
			t.Fatalf("%s: %v", c.script, diags)
		}
		var got []string
		for line := range strings.Lines(string(r.Job)) {
			if f := strings.Fields(line); len(f) == 3 && (f[0] == "nodes" || f[0] == "gpus_per_node") {
				got = append(got, strings.Join(f, " "))
			}
		}
		if all := strings.Join(got, " "); all != c.want {
			t.Errorf("%s: %s, want %s", c.script, all, c.want)
		}
	}
}
