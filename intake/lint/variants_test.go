package lint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/diag"
)

// head begins the scripts of the variants.
const head = "#!/bin/bash\n"

// TestVariants: what the examples of the rules do not show. A case without rules
// is one that looks like a mistake and is none.
func TestVariants(t *testing.T) {
	const step = "srun --kill-on-bad-exit=1 "
	const two = head + "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n"
	const meet = "--nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint n1:29500 train.py\n"
	const model = " pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --micro-batch-size 1 "
	for _, c := range []struct {
		name, script string
		want         []diag.ID
	}{
		{"directives with a letter", head + "#SBATCH -N 2 -t 10:00\n#SBATCH -Jname\nsrun hostname\n", nil},
		{"a directive that is switched off", head + "#SBATCH --nodes=2\nset -e\n##SBATCH --time=10\n# SBATCH --time=10\nsrun hostname\n", nil},
		{"a directive in a here-document", head + "cat >job.sh <<'END'\n#!/bin/bash\n#SBATCH --nodes=2\nEND\nsbatch job.sh\n", nil},
		{"a comment behind a directive", head + "#SBATCH --nodes=2 # two of them\nsrun hostname\n", nil},
		{"an option of a plugin", head + "#SBATCH --container-image=/images/x.sqsh\nsrun hostname\n", nil},
		{"a beginning that several options have", head + "#SBATCH --no=2\nsrun hostname\n", nil},
		{"an option that lacks its value", head + "#SBATCH --nodes\nsrun hostname\n", []diag.ID{UnknownDirective}},
		{"blank of several words", head + "F=<path to it>\npython pretrain_gpt.py --num-layers 2 --vocab-file $F --merge-file $F\n", []diag.ID{Blank}},
		{"a blank beside what looks like one in quotes", head + "export T=<token>\nV=$(nvidia-smi -q -x | grep -Po '(?<=<v>).*(?=</v>)')\nA=\"--save=<path>\"\nsrun python train.py --log=<file> $A $V\n", []diag.ID{Blank, Blank}},
		{"an option and its value in one word", head + "P=(\"--fp8-format hybrid\" \"--swiglu --bf16\"\n '--lr 1e-4')\ntorchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --micro-batch-size 1 --seq-length 64 --max-position-embeddings 64 \"${P[@]}\"\n", []diag.ID{UnknownOption, UnknownOption}},
		{"an option and its value in one word that bash takes apart", head + "P=(\"--fp8-format hybrid\")\ntorchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --micro-batch-size 1 --seq-length 64 --max-position-embeddings 64 ${P[@]} --bf16 \"--lr\" \"1e-4\"\n", nil},
		{"blanks around =", head + "#SBATCH --nodes = 2\nsrun hostname\n", []diag.ID{UnknownDirective}},
		{"the folder of the log, made before the script submits itself", head + "#SBATCH --output=logs/%j.out\nif [ -z $SLURM_JOB_ID ]; then\n  mkdir -p logs\n  sbatch \"$0\" \"$@\"\n  exit\nfi\nsrun hostname\n", nil},
		{"the folder of the log, made before the next submission alone", head + "#SBATCH --output=logs/%j.out\nmkdir -p logs\nif srun hostname; then\n  sbatch \"$0\"\nfi\n", []diag.ID{LogFolder}},
		{"a variable of NCCL that is not exported", two + "NCCL_IB_HCA=mlx5\nNCCL_ASYNC_ERROR_HANDLING=1\n" + step + "python train.py\n", []diag.ID{LostExport, LostExport, RenamedVariable}},
		{"a variable of the script's own that begins as NCCL's", two + "NCCL_TEST_PATH=/usr/local/nccl-tests\n" + step + "python train.py\n", nil},
		{"components of a job", head + "#SBATCH --nodes=1\n#SBATCH hetjob\n#SBATCH --nodes=4\nsrun hostname\n", nil},
		{"a step of its own nodes", two + step + "--nodes=1 torchrun --nnodes 1 " + meet, nil},
		{"one node, with options that have parallel in their names", two + "torchrun --nnodes $SLURM_NNODES --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint n1:29500" + model + "--tensor-model-parallel-size 2\n", []diag.ID{OneNode}},
		{"nodes that a tool starts", two + "parallel-ssh -h hosts 'torchrun --nnodes 2 " + strings.TrimSuffix(meet, "\n") + "'\n", nil},
		{"nodes that a path starts", two + "RUN=/usr/bin/mpirun\n$RUN torchrun --nnodes 2 " + meet, nil},
		{"nodes from the environment", two + "NNODES=${NNODES:-4}\n" + step + "torchrun --nnodes $NNODES " + meet, nil},
		{"nodes that a command lists", two + "nodes=( $(scontrol show hostnames $SLURM_JOB_NODELIST) )\n" + step + "torchrun --nnodes ${#nodes[@]} " + meet, nil},
		{"nodes of a list that is known", two + "nodes=( n1 n2 n3 )\n" + step + "torchrun --nnodes ${#nodes[@]} " + meet, []diag.ID{NodesDiffer}},
		{"nodes of a branch by a pattern with quotes", two + "NAME=a-70b\nN=4\nif [[ $NAME == *\"70b\"* ]]; then N=2; fi\n" + step + "torchrun --nnodes $N " + meet, nil},
		{"nodes that are counted", two + "N=1\nlet N+=1\n" + step + "torchrun --nnodes $N " + meet, nil},
		{"nodes by a letter", two + step + "-N 1 -n 1 torchrun --nnodes 1 " + meet, nil},
		{"elastic nodes", two + step + "torchrun --nnodes 1:2 " + meet, nil},
		{"tasks of the step", head + "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n" + step + "--ntasks-per-node=1 torchrun --nnodes 2 " + meet, nil},
		{"a launcher for each GPU that is told so", head + "#SBATCH --nodes=2\n#SBATCH --gres=gpu:a100:8\n#SBATCH --ntasks-per-node=8\n" + step + "torchrun --nnodes 2 --nproc-per-node gpu --rdzv-backend c10d --rdzv-endpoint n1:1 train.py\n", []diag.ID{ManyLaunchers}},
		{"the address in single quotes", two + step + "bash -c 'torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint $(hostname):29500 train.py'\n", []diag.ID{LocalAddress}},
		{"the address in double quotes", two + step + "bash -c \"torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint $(hostname):29500 train.py\"\n", nil},
		{"the address in a task's variable", two + step + "bash -c 'export MASTER_ADDR=$(hostname -s); torchrun --nnodes 2 --nproc-per-node 8 --node-rank $SLURM_NODEID --master-addr $MASTER_ADDR train.py'\n", []diag.ID{LocalAddress}},
		{"the address of the first node", two + "MASTER_ADDR=`hostname`\nexport L=\"torchrun --nnodes 2 --nproc-per-node 8 --master-addr $MASTER_ADDR\"\n" + step + "bash -c '$L --node-rank $SLURM_PROCID train.py'\n", nil},
		{"the address of the first node in a variable of its own line", two + "HOST=$(hostname)\n" + step + "torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint=\"$HOST:29400\" train.py\n", nil},
		{"the address of the first node, which tasks take from their environment", two + "export MASTER_ADDR=$(hostname)\n" + step + "bash -c 'torchrun --nnodes 2 --nproc-per-node 8 --node-rank $SLURM_NODEID --master-addr $MASTER_ADDR train.py'\n", nil},
		{"the address behind a backslash", two + step + "bash -c \"torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d \\\n  --rdzv-endpoint \\$(hostname):29500 train.py\"\n", []diag.ID{LocalAddress}},
		{"no rank of the node", two + step + "torchrun --nnodes=$SLURM_NNODES --nproc-per-node=8 --master-addr=n1 train.py\n", []diag.ID{NodeRank}},
		{"the rank of the node, expanded too early in a variable", two + "L=\"torchrun --nnodes 2 --nproc-per-node 8 --master-addr n1 --node-rank $SLURM_NODEID\"\n" + step + "$L train.py\n", []diag.ID{NodeRank}},
		{"a script that somebody starts on each node", head + "torchrun --nnodes 2 --nproc-per-node 8 --node-rank $SLURM_NODEID --master-addr n1 train.py\n", nil},
		{"one node of several with localhost", head + "torchrun --nnodes ${NNODES:-1} --nproc-per-node 8 --node-rank 0 --master-addr localhost train.py\n", nil},
		{"GPUs of several types", head + "#SBATCH --nodes=1\n#SBATCH --gres=gpu:A100:4,gmem:80G\ntorchrun --nproc-per-node 8 train.py\n", []diag.ID{ManyProcesses}},
		{"GPUs that are shown", head + "export CUDA_VISIBLE_DEVICES=0,1\ntorchrun --nproc-per-node 4 train.py\n", []diag.ID{ManyProcesses}},
		{"two launches that share a node", head + "#SBATCH --nodes=1\n#SBATCH --gres=gpu:8\ntorchrun --nproc-per-node 4 train.py &\ntorchrun --nproc-per-node 4 train.py &\nwait\n", nil},
		{"a variable that tells srun", two + "export SLURM_KILL_BAD_EXIT=1\nsrun torchrun --nnodes 2 " + meet, nil},
		{"options of srun in a variable of the environment", two + "srun $SRUN_OPTIONS torchrun --nnodes 2 " + meet, nil},
		{"a trap of another signal", head + "#SBATCH --nodes=1\n#SBATCH --signal=TERM@60\ntrap 'rm -rf tmp' EXIT\n" + step + "python train.py\n", nil},
		{"steps in the background that a loop waits for", head + "#SBATCH --nodes=1\nsrun python train.py &\nwhile kill -0 $!; do sleep 1; done\n", nil},
		{"a blank behind the backslash", head + "srun \\ \n  python train.py\n", []diag.ID{BrokenCommand}},
		{"blanks in declarations", head + "export WORLD_SIZE = 32\ndeclare -i N =4\nreadonly A B=1 C\nexport D= E\nf() { local x = 3; }\nsrun python train.py \"$N\" $x\n", []diag.ID{SpacedAssignment, SpacedAssignment, SpacedAssignment}},
		{"comments in backticks", head + "srun `# one` \\\n  python train.py `# two` \\\n  --x 1\n", nil},
		{"options in a list with a comment", head + "a=(\n  --x 1 # one\n  # --y 2\n)\ntorchrun --nproc-per-node 8 train.py \"${a[@]}\"\n", nil},
		{"an export by name", head + "NCCL_DEBUG=INFO\nexport NCCL_DEBUG\ntorchrun --nproc-per-node 8 train.py\n", nil},
		{"all variables exported", head + "set -a\nNCCL_DEBUG=INFO\ntorchrun --nproc-per-node 8 train.py\n", nil},
		{"a variable in front of the command", head + "NCCL_DEBUG=INFO torchrun --nproc-per-node 8 train.py\n", nil},
		{"a variable of the script that is one letter off one of NCCL", head + "NCCL_VER=2.21\nmodule load nccl/$NCCL_VER\ntorchrun --nproc-per-node 8 train.py\n", nil},
		{"a misspelt variable that the script reads and exports", head + "export NCCL_DEBUGS=INFO\necho $NCCL_DEBUGS\ntorchrun --nproc-per-node 8 train.py\n", []diag.ID{UnknownVariable}},
		{"a variable of the script that is named like one of a program", head + "NCCL_LEVEL=INFO\nexport NCCL_DEBUG=$NCCL_LEVEL\ntorchrun --nproc-per-node 8 train.py\n", nil},
		{"a variable of the site's scripts that is two letters off a short one of NCCL", head + "export NCCL_TEST=0\ntorchrun --nproc-per-node 8 train.py\n", nil},
		{"a variable of another library", head + "export NCCL_IB_HCA_OF_MINE=1\ntorchrun --nproc-per-node 8 train.py\n", nil},
		{"a placeholder of a secret", head + "export WANDB_API_KEY=your-key-goes-here-0123456789\ntorchrun --nproc-per-node 8 train.py\n", nil},
		{"an option by its beginning", head + "torchrun --nproc-per-node 8" + model + "--train-iter 10\n", []diag.ID{UnknownOption}},
		{"a folder without an interval", head + "torchrun --nproc-per-node 8" + model + "--save /ck\n", []diag.ID{Contradiction}},
		{"a folder without an interval, in a fork", head + "torchrun --nproc-per-node 8" + model + "--save /ck --use-z-loss --use-mpi\n", nil},
		{"an option of a fork", head + "torchrun --nproc-per-node 8" + model + "--data-paths x --bf17\n", nil},
		{"an option that is misspelt", head + "torchrun --nproc-per-node 8" + model + "--data-paths x\n", []diag.ID{UnknownOption}},
		{"options that the caller adds", head + "torchrun --nproc-per-node 8" + model + "--tensor-model-parallel-size 3 --num-attention-heads 33 \"$@\"\n", []diag.ID{RepeatedOption}},
		{"options that the caller may set", head + "TP=${TP:-3}\ntorchrun --nproc-per-node 8" + model + "--tensor-model-parallel-size $TP\n", nil},
		{"options under a condition", head + "a=(--lr 1)\nif [ -n \"$X\" ]; then a+=(--lr 2); fi\ntorchrun --nproc-per-node 8" + model + "\"${a[@]}\"\n", nil},
		{"layers of each stage in a fork", head + "torchrun --nproc-per-node 8" + model + "--num-layers 61 --pipeline-model-parallel-size 4 --num-layer-list 15,15,15,16\n", []diag.ID{RepeatedOption}},
		{"blocks of each stage in a fork", head + "torchrun --nproc-per-node 8" + model + "--num-layers 42 --pipeline-model-parallel-size 4 --pipeline-model-parallel-method block --pipeline-model-parallel-blocks 10,11,11,10\n", []diag.ID{RepeatedOption}},
		{"blanks behind options", head + "python train.py --save <path of checkpoints> \\\n  --port <port> --x 1 -f <in.txt> out.txt\necho \"--save <path>\" # --save <path>\n", []diag.ID{Blank, Blank}},
		{"a short option of a fork", head + "torchrun --nproc-per-node 8" + model + "--use-mpi\n", nil},
		{"an uneven pipeline", head + "torchrun --nproc-per-node 8" + model + "--num-layers 30 --pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 6\n", []diag.ID{RepeatedOption}},
		{"numbers of Python", head + "torchrun --nproc-per-node 8" + model + "--train-iters 1_000\n", nil},
		{"a launch by srun alone", head + "#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=6\n" + step + "python" + model + "--tensor-model-parallel-size 4\n", []diag.ID{WorldSize}},
		{"a rule that is silenced", two + "# ndc:ignore script-survivors: the site ends such steps\nsrun torchrun --nnodes 2 " + meet, nil},
		{"a limit in days", head + "#SBATCH --time=1-00:00:00\ntorchrun --nproc-per-node 8" + model + "--exit-duration-in-mins 1430\n", nil},
	} {
		var got []diag.ID
		for _, d := range Check("x.sh", []byte(c.script), Options{}) {
			got = append(got, d.ID)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s:\n%s%s", c.name, strings.TrimPrefix(c.script, head), d)
		}
	}
}
