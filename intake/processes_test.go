package intake

import (
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/intake/draft"
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
		{script: "srun -N 4 --ntasks-per-node=1 python -m deepspeed.launcher.runner --num_gpus 8 " + program, want: "nodes = 4 gpus_per_node = 8"},
		{script: "flux run -N 4 -n 32 -g 1 python " + program, want: "nodes = 4 gpus_per_node = 8"},
		{script: "flux run --nodes=4 --tasks-per-node=4 --gpus-per-task=1 python " + program, want: "nodes = 4 gpus_per_node = 4"},
		{script: "flux run -N2 --tasks-per-node=1 torchrun --nnodes 2 --nproc-per-node 8 " + program, want: "nodes = 2 gpus_per_node = 8"},
		{script: "jsrun -n 24 -a 1 -g 1 -r 6 python " + program, want: "nodes = 4 gpus_per_node = 6"},
		{script: "jsrun -n 4 -r 1 -a 6 -g 6 -c 42 python " + program, want: "nodes = 4 gpus_per_node = 6"},
		{script: "jsrun -n 4 -a 6 -g 6 python " + program, want: "nodes = var.nodes"},
		{script: "sbatch --nodes 4 --gpus-per-node=8 --wrap=\"srun torchrun --nproc_per_node 8 " + program + "\"", want: "nodes = 4 gpus_per_node = 8"},
		{script: "sbatch -N 2 -t 60 --wrap 'srun --ntasks-per-node=4 python " + program + "'", want: "nodes = 2 gpus_per_node = 4"},
		{script: "deepspeed --include localhost:0,1,2,3 " + program, want: "nodes = 1 gpus_per_node = 4"},
		{script: "deepspeed --include=a:0,1@b:0,1 " + program, want: "nodes = 2 gpus_per_node = 2"},
		{script: "deepspeed --include localhost:$GPUS " + program, want: "nodes = var.nodes"},
		{script: "aprun -n 16 -N 4 python " + program, want: "nodes = 4 gpus_per_node = 4"},
		{script: "torchrun --nproc_per_node=8 --master_port 29501 " + program, want: "nodes = 1 gpus_per_node = 8"},
		{script: "python -m torch.distributed.launch --nproc_per_node $N " + program, o: Options{Cluster: "dgx_h100"}, want: "nodes = 1"},
		{script: job + "torchrun --nproc_per_node 8 " + program, want: "nodes = 4 gpus_per_node = 8"},
		{script: "torchrun --nnodes $N --nproc_per_node 8 " + program, want: "nodes = var.nodes gpus_per_node = 8"},
		{script: "torchrun --nproc_per_node 8 $MORE " + program, want: "nodes = var.nodes gpus_per_node = 8"},
		{script: "export PET_NNODES=2\ntorchrun --nproc_per_node 8 " + program, want: "nodes = var.nodes gpus_per_node = 8"},
		{script: "torchrun " + program, want: "nodes = var.nodes"}, // PyTorchJob says both in the environment
	} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(c.script + "\n")}}, c.o)
		if diags.HasErrors() {
			t.Fatalf("%s: %v", c.script, diags)
		}
		if got := nodesOf(string(r.Job)); got != c.want {
			t.Errorf("%s: %s, want %s", c.script, got, c.want)
		}
	}
}

// TestAround: what starts processes counts for a script that the command in its words starts.
func TestAround(t *testing.T) {
	run := File{Name: "run.sh", Content: []byte("python pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --micro-batch-size 1 --seq-length 64\n")}
	for script, want := range map[string]string{
		"mpirun -np 16 --npernode 8 bash run.sh":                                              "nodes = 2 gpus_per_node = 8",
		"mpirun -np 16 --npernode 8 bash -c 'cd /x && bash run.sh' | tee log":                 "nodes = 2 gpus_per_node = 8",
		"C=\"mpirun -np 16 --npernode 8 bash -c 'bash run.sh' 2>&1 | tee log\"; eval $C":      "nodes = 2 gpus_per_node = 8",
		"srun -N 4 --ntasks-per-node=8 bash -c 'source env.sh; bash run.sh'":                  "nodes = 4 gpus_per_node = 8",
		"mpirun -np 16 --npernode 8 bash -c 'bash clean.sh'\nbash run.sh":                     "nodes = var.nodes",
		"bash run.sh; mpirun -np 16 --npernode 8 bash -c 'bash clean.sh'":                     "nodes = var.nodes",
		"bash -c 'bash run.sh'\nmpirun -np 16 --npernode 8 bash -c 'bash clean.sh' | tee log": "nodes = var.nodes",
	} {
		r, diags := Import([]File{{Name: "submit.sh", Content: []byte(script + "\n")}, run}, Options{})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", script, diags)
		}
		if got := nodesOf(string(r.Job)); got != want {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
	}
}

// TestHostfile: the nodes and GPUs of a hostfile are the job's, as far as what starts the run
// takes them.
func TestHostfile(t *testing.T) {
	const four = "# the cluster\nworker-0 slots=8\nworker-1 slots=8\n\nworker-2 slots=8\nworker-3 slots=8 max-slots=8\n"
	const program = " train.py --deepspeed_config ds.json"
	const megatron = " pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --micro-batch-size 1 --seq-length 64"
	for _, c := range []struct{ script, hosts, want, unread string }{
		{"deepspeed --hostfile hostfile" + program, four, "nodes = 4 gpus_per_node = 8", ""},
		{"deepspeed -H /job/hostfile --master_port $PORT" + program, four, "nodes = 4 gpus_per_node = 8", ""},
		{"deepspeed --hostfile=hostfile --num_nodes 2" + program, four, "nodes = 2 gpus_per_node = 8", ""},
		{"deepspeed --hostfile hostfile --num_gpus 4" + program, four, "nodes = 4 gpus_per_node = 4", ""},
		{"deepspeed --hostfile hostfile --include worker-0@worker-2" + program, four, "nodes = 2 gpus_per_node = 8", ""},
		{"deepspeed --hostfile hostfile --exclude worker-0" + program, four, "nodes = 3 gpus_per_node = 8", ""},
		{"deepspeed --hostfile hostfile --exclude worker-0:7" + program, four, "nodes = var.nodes", "--exclude --hostfile hostfile"},
		{"deepspeed --hostfile hostfile --include $HOSTS" + program, four, "nodes = var.nodes", "--hostfile --include hostfile"},
		{"deepspeed --hostfile hostfile" + program, "a slots=8\nb slots=4\n", "nodes = var.nodes", "--hostfile hostfile"},
		{"deepspeed --hostfile hostfile --module my.train --deepspeed_config ds.json", four, "nodes = 4 gpus_per_node = 8", ""},
		{"deepspeed --hostfile hostfile --num_nodes 2" + megatron, four, "nodes = 2 gpus_per_node = 8", ""},
		{"deepspeed --hostfile hostfile" + megatron, four, "nodes = 4 gpus_per_node = 8", ""},
		{"mpirun -np 16 --hostfile hostfile python" + megatron, four, "nodes = 2 gpus_per_node = 8", ""},
		{"mpirun --hostfile hostfile python" + megatron, four, "nodes = 4 gpus_per_node = 8", ""},
		{"torchrun --nnodes 2 --nproc_per_node 4" + megatron, four, "nodes = 2 gpus_per_node = 4", ""},
		{"torchrun --nnodes $(wc -l < hostfile) --nproc_per_node 8" + megatron, four, "nodes = 4 gpus_per_node = 8", ""},
	} {
		files := []File{{Name: "hostfile", Content: []byte(c.hosts)}, {Name: "run.sh", Content: []byte(c.script + "\n")}}
		if !strings.Contains(c.script, megatron) {
			files = append(files, File{Name: "ds.json", Content: []byte(`{"train_batch_size": 64, "bf16": {"enabled": true}}`)})
		}
		r, diags := Import(files, Options{})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", c.script, diags)
		}
		if got := nodesOf(string(r.Job)); got != c.want {
			t.Errorf("%s: %s, want %s", c.script, got, c.want)
		}
		var unread []string
		for _, f := range r.Findings {
			if f.Verdict == draft.Unknown && (f.Name == "hostfile" || slices.Contains([]string{"--hostfile", "-H", "--include", "--exclude"}, f.Name)) {
				unread = append(unread, f.Name)
			}
		}
		slices.Sort(unread)
		if got := strings.Join(unread, " "); got != c.unread {
			t.Errorf("%s: %q is not understood, want %q", c.script, got, c.unread)
		}
	}
}

// TestWrittenHostfile: a hostfile that a script writes at once is known as one that was given.
func TestWrittenHostfile(t *testing.T) {
	const launch = "deepspeed --hostfile=/tmp/hosts pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --micro-batch-size 1 --seq-length 64\n"
	for script, want := range map[string]string{
		"cat > /tmp/hosts <<E\na slots=8\nb slots=8\nE\n":                                             "nodes = 2 gpus_per_node = 8",
		"echo \"a slots=8\" > /tmp/hosts\n":                                                           "nodes = 1 gpus_per_node = 8",
		"echo \"$MASTER slots=8\" > /tmp/hosts\n":                                                     "nodes = var.nodes",
		"echo a slots=8 > /tmp/hosts; echo b slots=8 >> /tmp/hosts\n":                                 "nodes = 2 gpus_per_node = 8",
		"> /tmp/hosts\nfor h in a b c; do echo \"$h slots=8\" >> /tmp/hosts; done\n":                  "nodes = 3 gpus_per_node = 8",
		"rm -f /tmp/hosts\nfor h in a b c; do echo \"$h slots=8\" | tee -a /tmp/hosts; done\n":        "nodes = var.nodes",
		"rm -f /tmp/hosts\nfor h in a b c; do echo \"$h slots=8\" >> /tmp/hosts; done\n":              "nodes = 3 gpus_per_node = 8",
		"echo \"a slots=8\" >> /tmp/hosts\n":                                                          "nodes = var.nodes",
		"rm /tmp/hosts\nfor h in $(cat names); do echo \"$h slots=8\" >> /tmp/hosts; done\n":          "nodes = var.nodes",
		"echo \"a slots=8\" > /tmp/hosts\nif [ $N = 2 ]; then echo \"b slots=8\" >> /tmp/hosts; fi\n": "nodes = var.nodes",
		"echo a slots=8 > /tmp/hosts\nprintf 'b slots=8\\n' >> /tmp/hosts\n":                          "nodes = var.nodes",
		"echo \"a slots=8\" > /tmp/hosts\necho \"b slots=8\" > /tmp/hosts\n":                          "nodes = var.nodes",
		"cat > /tmp/others <<E\na slots=8\nb slots=8\nE\n":                                            "nodes = var.nodes",
	} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(script + launch)}}, Options{})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", script, diags)
		}
		if got := nodesOf(string(r.Job)); got != want {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
	}
}

// nodesOf is what a job says of its nodes and GPUs.
func nodesOf(job string) string {
	var got []string
	for line := range strings.Lines(job) {
		if f := strings.Fields(line); len(f) == 3 && (f[0] == "nodes" || f[0] == "gpus_per_node") {
			got = append(got, strings.Join(f, " "))
		}
	}
	return strings.Join(got, " ")
}
