package intake

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/lang"
	_ "github.com/ndc-dev/ndc/tools/seldom"
)

// TestJobsLoad: what a script gives is a job that the language takes, once its
// variables are set; what the job has no word for is named.
func TestJobsLoad(t *testing.T) {
	const launch = "torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --vocab-size 512 --micro-batch-size 1 --global-batch-size 16 --train-iters 10 --lr 1e-3 --bf16 "
	for _, c := range []struct {
		script string
		named  []string // settings that are not understood
	}{
		{launch, nil},
		{launch + "--swiglu --disable-bias-linear", nil},
		{launch + "--num-experts 8", nil},
		{launch + "--num-experts 8 --moe-router-topk $K --moe-ffn-hidden-size $F", []string{"--moe-router-topk", "--moe-ffn-hidden-size"}},
		{launch + "--ffn-hidden-size $FFN", []string{"--ffn-hidden-size"}},
		{launch + "--multi-latent-attention --q-lora-rank 64 --disable-bias-linear --position-embedding-type rope --num-attention-heads $HEADS", []string{"--num-attention-heads"}},
		{launch + "--lr-decay-iters 400 --lr-warmup-iters 4", []string{"--lr-decay-iters"}},
		{launch + "--lr-decay-style WSD --lr-wsd-decay-iters 2 --lr-wsd-decay-style $SHAPE", []string{"--lr-wsd-decay-style"}},
		{launch + "--reset-position-ids --position-embedding-type rope", nil},
		{launch + "--first-last-layers-bf16", nil},
		{launch + "--sequence-parallel", nil},
		{"[ -z $S ] && X=--swiglu\n" + launch + "--num-query-groups $G --group-query-attention --normalization $N --pipeline-model-parallel-size $P", []string{"--num-query-groups", "--normalization", "--pipeline-model-parallel-size"}},
		{launch + `--data-path "${DATA[@]}"`, []string{"--data-path"}},
		{launch + `--data-path $DATA/text --save ${RUN}/checkpoints`, nil},
		{launch + "`# how often` \\\n --save-interval 10 --save /ck", nil},
		{"for run in a b; do " + launch + "--save /ck/$run --data-path /data/$run --pretrained-checkpoint /old/$run; done", []string{"--save", "--data-path", "--pretrained-checkpoint"}},
		{"if [ -e $DATA ]; then D=/a; else D=/b; fi; " + launch + "--save $D", []string{"--save"}},
		{"while read run; do " + launch + "--tensorboard-dir /tb/$run; done < runs", []string{"--tensorboard-dir"}},
		{"#SBATCH --nodes=2\nset -e\n#SBATCH --nodes=16\n" + launch, []string{"--nodes"}},
		{"srun $SRUN_ARGS -w $(hostname) " + launch, []string{"$SRUN_ARGS"}},
		{"srun --container-mounts /fsx:/fsx " + launch, []string{"--container-mounts"}},
		{"srun --container-image $(cat image) --container-mounts /fsx:/fsx,$PWD:/code " + launch, []string{"--container-image", "--container-mounts", "--container-mounts"}},
		{"srun --container-image /i.sqsh --container-mounts /fsx:/fsx " + launch, nil},
		{"C=(\n  --container-image $(cat image)\n)\nsrun \"${C[@]}\" " + launch, []string{"--container-image"}},
		{"srun --container-image <path to image> --container-mounts \"<some mount>\" " + launch + "--save <PATH TO IT> --vocab-file <vocab.json>",
			[]string{"--container-image", "--container-mounts", "--save", "--vocab-file"}},
		{"srun --container-image /i.sqsh --container-mounts /fsx,/opt/slurm/bin " + launch + "--data-path /fsx/text --save /fsx/run", nil},
	} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(c.script)}}, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", c.script, diags)
		}
		if strings.Contains(c.script, "$SHAPE") && !slices.Contains(r.Open, "decay_shape") {
			t.Errorf("%s: asked for are %v", c.script, r.Open)
		}
		var named []string
		for _, f := range r.Findings {
			if f.Verdict == draft.Unknown {
				named = append(named, f.Name)
			}
		}
		if strings.Join(named, " ") != strings.Join(c.named, " ") {
			t.Errorf("%s: named are %v, want %v", c.script, named, c.named)
		}
		var o lang.Options
		for _, name := range r.Open {
			value := "8"
			switch name {
			case "normalization":
				value = "rmsnorm"
			case "decay_shape":
				value = "linear"
			}
			o.Variables = append(o.Variables, lang.VariableArg{Name: name, Value: value})
		}
		if _, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: r.Job}}, "job.hcl", o); diags.HasErrors() {
			t.Errorf("%s: the job does not load: %v\n%s", c.script, diags, r.Job)
		}
	}
}

// TestUnknownWords: words of a launch that may be options, and that nobody knows, are named;
// the job says so and asks for a precision. What can be known of them is read.
func TestUnknownWords(t *testing.T) {
	const model = "--num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --vocab-size 512 --micro-batch-size 1 --global-batch-size 16"
	const launch = "torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py $M --lr 1e-3 --train-iters 10 "
	for script, want := range map[string]string{
		"O=$(cat opts.txt)\n" + launch + "$O":                                                  "2 $(cat opts.txt)",
		"O=`cat opts.txt`\n\n" + launch + "$O":                                                 "2 $(cat opts.txt)",
		"mapfile -t O < f\n" + launch + "\"${O[@]}\"":                                          "2 ${O[@]}",
		"printf -v O '%s ' $X\n" + launch + "$O":                                               "2 $X",
		"xargs " + launch + "< args":                                                           "2 $(xargs)",
		launch + "@args.txt":                                                                   "2 @args.txt",
		launch + "\"$@\"":                                                                      "2 $@",
		"torchrun --nnodes 2 pretrain_gpt.py $O $M --lr 1e-3 --train-iters 10":                 "2 $O",
		launch + "--data-path 0.3 /a 0.7 $DATA/b $EXTRA_ARGS":                                  "2 $EXTRA_ARGS",
		launch + "--data-path $(calc 8 /a) $(calc 3 /b) $(calc 1 /c) $(calc 1 /d)":             "2 $(calc 3 /b) and 2 words alike2 --data-path",
		"ssh node1 '" + launch + "--bf16'":                                                     "2 $M",
		"O=$(cat <<EOF\n--bf16\n--swiglu\nEOF\n)\n" + launch + "$O":                            "",
		"read -r -d '' O <<'EOF'\n--bf16\n--swiglu\nEOF\n" + launch + "$O":                     "",
		"for e in --bf16 --swiglu; do O+=(\"$e\"); done\n" + launch + "\"${O[@]}\"":            "",
		"ssh node1 \"cd /x && " + launch + "--bf16 --swiglu\"":                                 "",
		"cat > run.sh <<EOF\n#!/bin/bash\n" + launch + "--bf16 --swiglu\nEOF\nsbatch run.sh\n": "",
	} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte("M=\"" + model + "\"\n" + script + "\n")}}, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", script, diags)
		}
		got := ""
		for _, f := range r.Findings {
			if f.Verdict == draft.Unknown {
				got += fmt.Sprint(f.Line, " ", f.Name)
			}
		}
		job := string(r.Job)
		if got != want {
			t.Errorf("%s: named are %q, want %q", script, got, want)
		}
		if told := strings.Contains(job, "may be any options of the launch"); told != (want != "") {
			t.Errorf("%s:\n%s", script, job)
		}
		if whole := strings.Contains(job, `"bf16"`) && strings.Contains(job, `"swiglu"`); whole != (want == "") {
			t.Errorf("%s:\n%s", script, job)
		}
		if asked := strings.Contains(job, "var.precision"); asked != (want != "" && want != "2 $M") { // which stands beside --bf16
			t.Errorf("%s:\n%s", script, job)
		}
	}
}

// TestSeveralLaunches: a script's launches besides the one that is read are named, where they
// say something else and are none of another node, or of a script that starts it.
func TestSeveralLaunches(t *testing.T) {
	const options = "--num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --vocab-size 512 --micro-batch-size 1 --global-batch-size 16 --train-iters 10 --bf16"
	const launch = "torchrun --nproc-per-node 8 pretrain_gpt.py " + options
	const titan = "torchrun --nproc-per-node 8 -m torchtitan.train --job.config_file a.toml --training.steps "
	for script, want := range map[string]string{
		launch + " --lr 1e-3 --save /ck/1\n" + launch + " --lr 1e-3 --save /ck/2 --load /ck/1":                                                        "1 pretrain_gpt.py /ck/1: 2",
		"f() {\n" + launch + " --lr $1\n}\nf 1e-3\nf 2e-3":                                                                                            "5 pretrain_gpt.py 2e-3: 4",
		launch + " --lr 1e-3\npython convert.py --saver x " + options:                                                                                 "",
		"if [ $R = 0 ]; then torchrun --node-rank 0 pretrain_gpt.py " + options + "\nelse torchrun --node-rank 1 pretrain_gpt.py " + options + "\nfi": "",
		"bash in.sh " + options: "",
		"deepspeed --num_gpus 8 a.py --x 1\ndeepspeed --num_gpus 4 a.py --x 1\ndeepspeed --num_gpus 8 a.py --x 2": "3 deepspeed 2: 1",
		titan + "10\n" + titan + "20":  "2 torchrun 20: 1",
		titan + "10\n" + titan + "10":  "",
		titan + "10\nbash t.sh 10 --a": "",
	} {
		files := []File{{Name: "run.sh", Content: []byte(script + "\n")}, {Name: "in.sh", Content: []byte("python pretrain_gpt.py \"$@\" --lr 1e-3\n")}}
		if strings.Contains(script, "deepspeed") {
			files[1] = File{Name: "ds.json", Content: []byte(`{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3}}`)}
		}
		if strings.Contains(script, "titan") {
			files[1] = File{Name: "a.toml", Content: []byte("[training]\nsteps = 5\n[metrics]\nlog_freq = 1\n")}
		}
		r, diags := Import(files, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", script, diags)
		}
		got := ""
		for _, f := range r.Findings {
			if f.Verdict == draft.Unknown && strings.HasPrefix(f.Why, "another launch") {
				got += fmt.Sprint(f.Line, " ", f.Name, " ", f.Value, ": ", regexp.MustCompile(`line (\d+)`).FindStringSubmatch(f.Why)[1])
			}
		}
		if got != want {
			t.Errorf("%s:\nnamed is %q, want %q", script, got, want)
		}
		if strings.Contains(script, "titan") && !strings.Contains(string(r.Job), "= 10\n") {
			t.Errorf("%s:\n%s", script, r.Job)
		}
	}
}

// TestParts: a script that another one reads or starts is a part of that one, in
// whatever order they are given, and the directives say what Slurm tells them.
func TestParts(t *testing.T) {
	const options = "--num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --vocab-size 512"
	outer := File{Name: "run.sbatch", Content: []byte("#!/bin/bash\n#SBATCH --nodes=4 --gres=gpu:8\nexport GBS=$((SLURM_NNODES * 16))\nsource conf/model.sh\nexport MODEL\nsrun bash train.sh 2\n")}
	model := File{Name: "conf/model.sh", Content: []byte("MODEL=\"" + options + "\"\n")}
	inner := File{Name: "train.sh", Content: []byte("torchrun --nnodes ${SLURM_NNODES:-1} pretrain_gpt.py $MODEL --micro-batch-size $1 --global-batch-size ${GBS:-8} --train-iters 10 --lr 1e-3 --bf16\n")}
	for _, files := range [][]File{{outer, model, inner}, {inner, model, outer}, {model, outer, inner}} {
		r, diags := Import(files, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for _, f := range r.Findings {
			if f.Verdict == draft.Unknown {
				t.Errorf("%s first: %+v", files[0].Name, f)
			}
		}
		for _, want := range []string{"nodes = 4", "global_batch_size = 64", "micro_batch_size  = 2", "layers            = 8"} {
			if !strings.Contains(string(r.Job), want) {
				t.Errorf("%s first: no %s in\n%s", files[0].Name, want, r.Job)
			}
		}
	}
}

// TestPartsByArgument: with its arguments a script is known to read a file, which is not a
// launch of its own then; without them the file that it reads is not known.
func TestPartsByArgument(t *testing.T) {
	files := []File{
		{Name: "params/small.sh", Content: []byte("ALL=(--num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --micro-batch-size 1)\n")},
		{Name: "train.sh", Content: []byte("NAME=$1; shift\nsource $(dirname $0)/params/$NAME.sh\nsrun python $(realpath $X)/pretrain_gpt.py ${ALL[@]} --global-batch-size 16 --train-iters 10 --lr 1e-3 --bf16 --vocab-size 512 --save /ck\n")},
	}
	files[0], files[1] = files[1], files[0]
	for want, arguments := range map[string][]string{"": {"small"}, "source: which file it is, and so what it sets, goes with the script's arguments, which stand behind --": nil} {
		r, diags := Import(files, Options{Cluster: "dgx_h100", Arguments: arguments})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		var named []string
		for _, f := range r.Findings {
			if f.Verdict == draft.Unknown && (arguments != nil || f.Name == "source") {
				named = append(named, f.Name+": "+f.Why)
			}
		}
		if got := strings.Join(named, "\n"); got != want {
			t.Errorf("%v: %s, want %s", arguments, got, want)
		}
	}
}

// TestSubmitted: what a command of sbatch says counts before the directives of the script
// that it starts, and files of one name are told apart by their folders.
func TestSubmitted(t *testing.T) {
	const options = "--num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --vocab-size 512"
	files := []File{
		{Name: "jobs/small.sh", Content: []byte("export GBS=32\nWIDTH=2 sbatch --job-name=small --nodes 2 -p $PART slurm/moe.sh\n")},
		{Name: "slurm/moe.sh", Content: []byte("#!/bin/bash\n#SBATCH --nodes=4 --gres=gpu:8 --job-name=moe\n#SBATCH --partition=long\nsource conf/moe.sh\nNCCL_DEBUG=INFO srun torchrun --nnodes $SLURM_NNODES pretrain_gpt.py \"${ARGS[@]}\" --micro-batch-size 1 --global-batch-size $GBS --train-iters 10 --lr 1e-3 --bf16 --tensor-model-parallel-size ${WIDTH:-1}\n")},
		{Name: "conf/moe.sh", Content: []byte("ARGS=(" + options + ")\n")},
	}
	for _, files := range [][]File{files, {files[1], files[2], files[0]}} {
		r, diags := Import(files, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for _, f := range r.Findings {
			if f.Verdict == draft.Unknown && (f.Name != "--partition" || f.File != "jobs/small.sh" || f.Line != 2) {
				t.Errorf("%s first: %+v", files[0].Name, f)
			}
		}
		job := spaces.ReplaceAllString(string(r.Job), " ")
		for _, want := range []string{`job "small"`, " nodes = 2", "global_batch_size = 32", "tensor_parallel = 2", `NCCL_DEBUG = "INFO"`} {
			if !strings.Contains(job, want) {
				t.Errorf("%s first: no %s in\n%s", files[0].Name, want, r.Job)
			}
		}
	}
}

// TestEngine: a launch of a fork of Megatron-LM says the run, and not the configuration
// of DeepSpeed that it names.
func TestEngine(t *testing.T) {
	r, diags := Import([]File{
		{Name: "ds.json", Content: []byte(`{"train_batch_size": 16, "zero_optimization": {"stage": 1}}`)},
		{Name: "run.sh", Content: []byte("deepspeed --num_nodes 2 --num_gpus 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --micro-batch-size 1 --global-batch-size 16 --train-iters 10 --lr 1e-3 --bf16 --deepspeed --deepspeed_config ds.json --zero-stage 1\n")},
	}, Options{Cluster: "dgx_h100"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if job := spaces.ReplaceAllString(string(r.Job), " "); !strings.Contains(job, " layers = 8") || !strings.Contains(job, `backend "megatron"`) {
		t.Errorf("%s", r.Job)
	}
	for _, f := range r.Findings {
		if f.File == "ds.json" && !strings.Contains(f.Why, "run.sh starts a fork of Megatron-LM on line 1") {
			t.Errorf("%+v", f)
		}
	}
}

// TestSwift: ms-swift is told by its environment on how many nodes and GPUs it runs.
func TestSwift(t *testing.T) {
	const launch = " --tensor_model_parallel_size 2 --micro_batch_size 1 --global_batch_size 16 --train_iters 10 --lr 1e-5 --bf16 true\n"
	for script, want := range map[string]string{
		"NNODES=2 NPROC_PER_NODE=4 megatron sft" + launch:                 "nodes = 2 gpus_per_node = 4",
		"export NNODES=$N\nexport NPROC_PER_NODE=4\nmegatron pt" + launch: "nodes = var.nodes gpus_per_node = 4",
		"NPROC_PER_NODE=4 megatron sft" + launch:                          "nodes = 1 gpus_per_node = 4",
		"NNODES=2 NPROC_PER_NODE=4 torchrun train.py" + launch:            "nodes = var.nodes",
	} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(script)}}, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if job := spaces.ReplaceAllString(strings.ReplaceAll(string(r.Job), "\n", " "), " "); !strings.Contains(job, want+" }") {
			t.Errorf("%s: no %s in\n%s", script, want, r.Job)
		}
	}
}

// TestFar: tensor-parallel ranks of several nodes are planned as they are launched, which a
// job allows that says so.
func TestFar(t *testing.T) {
	const launch = " pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --seq-length 128 --micro-batch-size 1 --lr 1e-4 --train-iters 9 --tensor-model-parallel-size 8\n"
	for _, c := range []struct {
		gpus, cluster string
		far           bool
	}{
		{"4", "dgx_a100", true}, {"4", "", true}, {"4", "gb200_nvl72", false}, {"8", "dgx_a100", false}, {"8", "", false}, {"$N", "", false}, {"$N", "dgx_a100", false},
	} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte("torchrun --nnodes 4 --nproc-per-node " + c.gpus + launch)}}, Options{Cluster: c.cluster})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got := strings.Contains(string(r.Job), "nvlink_only = []"); got != c.far {
			t.Errorf("%s GPUs on %q: %v in\n%s", c.gpus, c.cluster, got, r.Job)
		}
	}
}

// TestSlime: nodes and GPUs of a launch of slime are those of the model that it trains, and
// what it evaluates is no loss on text.
func TestSlime(t *testing.T) {
	r, diags := Import([]File{{Name: "run.sh", Content: []byte("ray job submit -- python3 train.py --actor-num-nodes 4 --actor-num-gpus-per-node 4 --rollout-num-gpus 16 --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --tensor-model-parallel-size 2 --global-batch-size 64 --lr 1e-6 --micro-batch-size 1 --eval-interval 20")}}, Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if job := spaces.ReplaceAllString(string(r.Job), " "); !strings.Contains(job, "nodes = 4\n gpus_per_node = 4\n") {
		t.Errorf("nodes are lost in\n%s", r.Job)
	}
	named := slices.ContainsFunc(r.Findings, func(f draft.Finding) bool { return f.Name == "--eval-interval" && f.Verdict == draft.Unknown })
	if !named || strings.Contains(string(r.Job), "validation") {
		t.Errorf("the evaluation is named: %v\n%s", named, r.Job)
	}
}

// TestRollouts: slime counts in rollouts, of which each is some steps, as far as these are known.
func TestRollouts(t *testing.T) {
	const launch = "python3 train.py --actor-num-nodes 1 --num-layers 8 --hidden-size 64 --num-attention-heads 8 --seq-length 64 --save /c --save-interval 20 "
	for options, want := range map[string]string{
		"--num-rollout 30 --rollout-batch-size 32 --n-samples-per-prompt 8 --global-batch-size 256":    "global_batch_size = 256 steps = 30 interval = 20",
		"--num-rollout 30 --rollout-batch-size 32 --n-samples-per-prompt 8 --global-batch-size 64":     "global_batch_size = 64 steps = 120 interval = 80",
		"--num-rollout 30 --rollout-batch-size 128 --n-samples-per-prompt 8 --num-steps-per-rollout 4": "global_batch_size = 256 steps = 120 interval = 80",
		"--num-epoch 3 --rollout-batch-size 128 --global-batch-size 128":                               "global_batch_size = 128 steps = var.steps interval = 20",
		"--num-rollout 30 --rollout-batch-size $B --n-samples-per-prompt 8 --global-batch-size 64":     "global_batch_size = 64 steps = var.steps",
	} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(launch + options + "\n")}}, Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		var got []string
		for line := range strings.Lines(string(r.Job)) {
			if f := strings.Fields(line); len(f) == 3 && slices.Contains([]string{"global_batch_size", "steps", "interval"}, f[0]) {
				got = append(got, strings.Join(f, " "))
			}
		}
		if all := strings.Join(got, " "); all != want {
			t.Errorf("%s: %s, want %s", options, all, want)
		}
	}
}

// TestFlagScale: sections of FlagScale hold options at any depth, and a width that it makes
// of others is asked for.
func TestFlagScale(t *testing.T) {
	const src = "system:\n  tensor_model_parallel_size: 2\n  precision:\n    bf16: true\n    fp16: false\nmodel:\n  num_layers: 8\n  hidden_size: 4096\n  num_attention_heads: 32\n  swiglu: true\n%s  seq_length: 2048\n  max_position_embeddings: 2048\n  micro_batch_size: 2\n  global_batch_size: 64\n  train_iters: 10\n  optimizer:\n    lr_scheduler:\n      lr: 2.0e-5\ndata:\n  data_path: ${data_path:??}\n  tokenizer:\n    vocab_size: 512\n"
	for more, want := range map[string]string{
		"":                     " ffn_hidden_size = 10880\n",
		"  multiple_of: 256\n": " ffn_hidden_size = var.ffn_hidden_size\n",
		"  multiple_of: 256\n  ffn_hidden_size: 64\n": " ffn_hidden_size = 64\n",
	} {
		r, diags := Import([]File{{Name: "7b.yaml", Content: []byte(fmt.Sprintf(src, more))}}, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		job := spaces.ReplaceAllString(string(r.Job), " ")
		for _, w := range []string{want, " tensor_parallel = 2\n", " precision = \"bf16\"\n", " learning_rate = 2e-5\n", " vocab_size = 512\n"} {
			if !strings.Contains(job, w) {
				t.Errorf("%q: no %q in\n%s", more, w, r.Job)
			}
		}
	}
}

// TestHanded: variables that a launcher or a container is told are those of the run.
func TestHanded(t *testing.T) {
	const program = "python pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --micro-batch-size 1 --seq-length 64 -x NCCL_ALGO=Ring\n"
	for launcher, want := range map[string]string{
		"CUDA_LAUNCH_BLOCKING=1 mpirun -np 8 ":                      "CUDA_LAUNCH_BLOCKING = \"1\"",
		"mpirun -np 8 -x NCCL_DEBUG=INFO -x PATH ":                  "NCCL_DEBUG = \"INFO\"",
		"docker run -e NCCL_IB_HCA=mlx5_0,mlx5_1 --gpus all img:1 ": "NCCL_IB_HCA = \"mlx5_0,mlx5_1\"",
		"srun apptainer exec --nv --env=NCCL_DEBUG=WARN /i/m.sif ":  "NCCL_DEBUG = \"WARN\"",
		"srun podman-hpc run --env NCCL_DEBUG=WARN --gpu img:1 ":    "NCCL_DEBUG = \"WARN\"",
		"srun ": "",
	} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(launcher + program)}}, Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		job := spaces.ReplaceAllString(string(r.Job), " ")
		if !strings.Contains(job, want) || strings.Contains(job, "Ring") || strings.Contains(job, "environment") != (want != "") {
			t.Errorf("%s: no %q in\n%s", launcher, want, r.Job)
		}
	}
}

// TestApptainer: the image and the mounts of Apptainer are those of the job, and another
// container is named.
func TestApptainer(t *testing.T) {
	const program = "pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --micro-batch-size 1 --seq-length 64\n"
	for launcher, want := range map[string]string{
		"srun singularity exec --nv --bind /data,/a:/b:ro --env A=1 /i/m.sif python ":                                          "image = \"/i/m.sif\" mounts = [\"/data:/data\", \"/a:/b:ro\"] runtime = \"apptainer\" mount_home = true",
		"export SINGULARITY_BIND=/x\nexport SINGULARITY_BIND=/pfs,/s:/t\nsrun singularity exec -B /data,/pfs /i/m.sif python ": "image = \"/i/m.sif\" mounts = [\"/pfs:/pfs\", \"/s:/t\", \"/data:/data\"] runtime = \"apptainer\" mount_home = true",
		"export APPTAINER_BINDPATH=$D\nsrun apptainer exec /i/m.sif python ":                                                   "image = \"/i/m.sif\" runtime = \"apptainer\" mount_home = true",
		"srun apptainer exec -C --pwd=/w --rocm docker://r.io/a/b:1 bash -c 'torchrun ":                                        "image = \"docker://r.io/a/b:1\" workdir = \"/w\" runtime = \"apptainer\"",
		"srun apptainer exec --pwd /w $SIF python ":                                                                            "",
		"docker run --gpus all img:1 python ":                                                                                  "",
		"srun -N 2 podman-hpc run --rm --gpu img:1 python ":                                                                    "",
		"singularity exec prep.sif python prepare.py\npython ":                                                                 "none",
	} {
		script := launcher + program
		if strings.Contains(launcher, "'") {
			script = strings.TrimSpace(script) + "'\n"
		}
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(script)}}, Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		job := spaces.ReplaceAllString(strings.ReplaceAll(string(r.Job), "\n", " "), " ")
		named := slices.ContainsFunc(r.Findings, func(f draft.Finding) bool {
			return f.Verdict == draft.Unknown && slices.Contains([]string{"apptainer", "docker", "podman-hpc"}, f.Name)
		})
		if !strings.Contains(job, strings.TrimPrefix(want, "none")) || strings.Contains(job, "container {") != (len(want) > 4) || named != (want == "") {
			t.Errorf("%s: named is %v, no %q in\n%s", launcher, named, want, r.Job)
		}
	}
}

// TestAccelerated: the Trainer's options on the command line of accelerate, whose configuration
// is for DeepSpeed, say batch, rate and steps.
func TestAccelerated(t *testing.T) {
	config := File{Name: "zero3.yaml", Content: []byte("distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\nmixed_precision: bf16\nnum_machines: 2\nnum_processes: 16\n")}
	const options = " --per_device_train_batch_size 2 --gradient_accumulation_steps 4 --output_dir o --learning_rate 1e-5 --max_steps 100"
	for program, want := range map[string]string{
		"sft.py" + options: " global_batch_size = 128\n steps = 100\n",
		"sft.py" + strings.Replace(options, "--output_dir o ", "", 1): " global_batch_size = 128\n steps = 100\n",
		"run_clm_no_trainer.py" + options:                             " global_batch_size = var.global_batch_size\n",
	} {
		script := File{Name: "run.sh", Content: []byte("accelerate launch --config_file zero3.yaml " + program + "\n")}
		r, diags := Import([]File{script, config}, Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if job := spaces.ReplaceAllString(string(r.Job), " "); !strings.Contains(job, want) {
			t.Errorf("%s: no %q in\n%s", program, want, r.Job)
		}
	}
	script := File{Name: "run.sh", Content: []byte("accelerate launch --config_file zero3.yaml sft.py --use_peft" + options + "\n")}
	if _, diags := Import([]File{script, config}, Options{}); !diags.HasErrors() {
		t.Error("adapters are trained")
	}
}

// TestComponents: of a heterogeneous job of Slurm the first component is read, and the others
// are named.
func TestComponents(t *testing.T) {
	const script = "#!/bin/bash\n#SBATCH --nodes=3 --gres=gpu:8\n#SBATCH %s\n#SBATCH --nodes=1 --partition=cpu\nsrun torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --micro-batch-size 1 --seq-length 64\n"
	for _, kind := range []string{"hetjob", "packjob"} {
		r, diags := Import([]File{{Name: "run.sbatch", Content: fmt.Appendf(nil, script, kind)}}, Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		job := spaces.ReplaceAllString(string(r.Job), " ")
		if !strings.Contains(job, " nodes = 3\n") || strings.Contains(job, "partition") || !slices.ContainsFunc(r.Findings, func(f draft.Finding) bool { return f.Name == "hetjob" && f.Line == 3 && f.Verdict == draft.Unknown }) {
			t.Errorf("%s: %+v\n%s", kind, r.Findings, r.Job)
		}
	}
}

// TestWrittenDirectives: the directives of a script that a script writes and submits are read as bash
// writes them.
func TestWrittenDirectives(t *testing.T) {
	const script = "NODES=4\ncat > run.sbatch <<%s\n#!/bin/bash\n#SBATCH --nodes=$NODES --gres=gpu:8\n#SBATCH --partition=$1\nsrun torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --micro-batch-size 1 --seq-length 64\nEOF\nsbatch run.sbatch\n"
	for quote, why := range map[string]string{"EOF": "its value is known only when the script runs", "-EOF": "its value is known only when the script runs", "'EOF'": "sbatch expands nothing in its comments"} {
		content := fmt.Sprintf(script, quote)
		if quote == "-EOF" { // which takes the tabs away that lines begin with
			content = strings.ReplaceAll(content, "\n#", "\n\t#")
		}
		r, diags := Import([]File{{Name: "submit.sh", Content: []byte(content)}}, Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if !slices.ContainsFunc(r.Findings, func(f draft.Finding) bool { return f.Name == "--partition" && f.Line == 5 && f.Why == why }) {
			t.Errorf("%s: %+v", quote, r.Findings)
		}
		if nodes := slices.ContainsFunc(r.Findings, func(f draft.Finding) bool { return f.Name == "--nodes" && f.Verdict == draft.Mapped }); nodes != (quote != "'EOF'") {
			t.Errorf("%s: nodes read is %t", quote, nodes)
		}
	}
}

// TestExperiment: the file with which FlagScale is started says the program, the nodes and what
// its options name; without it the program is not known.
func TestExperiment(t *testing.T) {
	options := File{Name: "train/rwkv_3b.yaml", Content: []byte("system:\n  seed: ${experiment.seed}\nmodel:\n  num_layers: 8\n  hidden_size: 64\n  num_attention_heads: 8\n  seq_length: 64\n  max_position_embeddings: 64\n  train_iters: ${experiment.steps}\n")}
	e := File{Name: "train.yaml", Content: []byte("defaults:\n  - train: 3b\nexperiment:\n  seed: 7\n  task:\n    type: train\n    entrypoint: ./flagscale/train/train_rwkv.py\n  runner: {nproc_per_node: 4, nnodes: 3}\n  envs:\n    NCCL_DEBUG: INFO\n")}
	for _, files := range [][]File{{options, e}, {e, options}} {
		r, diags := Import(files, Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		job := spaces.ReplaceAllString(string(r.Job), " ")
		for _, want := range []string{"job \"rwkv_3b\"", " architecture = \"rwkv\"\n", " nodes = 3\n", " gpus_per_node = 4\n", " seed = 7\n", " NCCL_DEBUG = \"INFO\"\n"} {
			if !strings.Contains(job, want) {
				t.Errorf("no %q in\n%s", want, r.Job)
			}
		}
		if !slices.ContainsFunc(r.Findings, func(f draft.Finding) bool { return f.Name == "--train-iters" && f.Verdict == draft.Unknown }) {
			t.Errorf("of a name that the experiment has not: %+v", r.Findings)
		}
		for range 8 { // of one line
			again, _ := Import(files, Options{})
			if diff := cmp.Diff(r.Findings, again.Findings); diff != "" {
				t.Fatal(diff)
			}
		}
	}
	r, diags := Import([]File{options}, Options{})
	if diags.HasErrors() || r.Findings[0].Verdict != draft.Unknown || !strings.Contains(r.Findings[0].Why, "which program of FlagScale") {
		t.Errorf("without an experiment: %v %+v", diags, r)
	}
	if _, diags := Import([]File{e}, Options{}); !diags.HasErrors() {
		t.Error("an experiment alone is read")
	}
}

// TestPublished: a launch trains with the numbers that it says, also where the config.json of
// the model has them and the catalogue knows that they are not trained with.
func TestPublished(t *testing.T) {
	const launch = "torchrun --nnodes 8 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention --num-query-groups 8 --seq-length 4096 --max-position-embeddings 32768 --vocab-size 32000 --swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights --position-embedding-type rope --rotary-base 1000000 --attention-dropout 0 --hidden-dropout 0 --num-experts 8 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss --micro-batch-size 1 --global-batch-size 64 --train-iters 10 --lr 1e-4 --bf16 --moe-aux-loss-coeff "
	for coefficient, want := range map[string]string{"1e-2": "", "2e-2": "aux_coefficient = 0.02"} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(launch + coefficient)}}, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if job := spaces.ReplaceAllString(string(r.Job), " "); (r.Model == "mixtral_8x7b") != (want == "") || !strings.Contains(job, want) {
			t.Errorf("%s: %q, no %q in\n%s", coefficient, r.Model, want, r.Job)
		}
	}
}

// TestPython: a configuration of TorchTitan in Python is not read, and what is read is said.
func TestPython(t *testing.T) {
	_, diags := Import([]File{{Name: "config.py", Content: []byte("from torchtitan.trainer import Trainer\n")}}, Options{})
	if !diags.HasErrors() || !strings.Contains(diags[0].Detail, "--debug.save_config_file") {
		t.Errorf("%v", diags)
	}
}

// TestOwnDefaults: a job says that defaults are Megatron-LM's where the launch is another
// program's, which may have others.
func TestOwnDefaults(t *testing.T) {
	const options = " --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --micro-batch-size 1 --global-batch-size 8 --own 1\n"
	for program, want := range map[string]bool{"pretrain_gpt.py": false, "train.py": true} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte("torchrun --nproc-per-node 8 " + program + options)}}, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got := strings.Contains(string(r.Job), "# what the launch does not say is as Megatron-LM has it"); got != want {
			t.Errorf("%s:\n%s", program, r.Job)
		}
	}
}

// TestWorkingFolder: where a container starts is read, and what a run logs to the working
// folder of an image is named, since a job with such a path is refused.
func TestWorkingFolder(t *testing.T) {
	for option, want := range map[string][]string{
		"":                             {"not understood", ""},
		"--container-workdir /fsx/run": {"mapped", `workdir = "/fsx/run"`},
		"--container-workdir=$DIR":     {"not understood", ""},
	} {
		script := "#!/bin/bash\n#SBATCH --nodes=1 --gpus-per-node=8\nsrun --container-image /fsx/image.sqsh --container-mounts /fsx " + option +
			" torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --vocab-size 512 --micro-batch-size 1 --global-batch-size 8 --train-iters 10 --lr 1e-3 --bf16 --tensorboard-dir events\n"
		r, diags := Import([]File{{Name: "run.sbatch", Content: []byte(script)}}, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for _, f := range r.Findings {
			if f.Name == "--tensorboard-dir" && string(f.Verdict) != want[0] {
				t.Errorf("%s: %+v", option, f)
			}
		}
		job := strings.Join(strings.Fields(string(r.Job)), " ")
		if !strings.Contains(job, want[1]) || strings.Contains(job, "events") != (want[0] == "mapped") {
			t.Errorf("%s:\n%s", option, r.Job)
		}
	}
}

// TestRecipe: a recipe of Megatron-LM is the job of a script with its options, spelled
// either way; other sections and switches that are off say nothing, secrets stay out.
func TestRecipe(t *testing.T) {
	const script = `#!/bin/bash
export NCCL_NVLS_ENABLE=0
export HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz
pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --vocab-size 512 \
  --swiglu --micro-batch-size 1 --global-batch-size 16 --train-iters 10 --lr 1.2e-05 --bf16 --num-experts 8 --moe-router-topk 2 --moe-layer-freq '([0]*3+[1]*5)' \
  --recompute-granularity selective --recompute-modules moe_act layernorm --save ${OUTPUT}/checkpoints
`
	const recipe = `DEPENDENCIES:
  dockerfile: |
    FROM scratch
ENV_VARS:
  NCCL_NVLS_ENABLE: '0'
  HF_TOKEN: hf_abcdefghijklmnopqrstuvwxyz
ARGS:
  num_layers: 8
  hidden_size: 1024
  num_attention_heads: 8
  seq_length: 128
  max_position_embeddings: 128
  vocab_size: 512
  swiglu: true
  tie_embeddings: null
  untie_embeddings_and_output_weights: false
  micro_batch_size: 1
  global_batch_size: 16
  train_iters: 10
  lr: 1.2e-05
  bf16: true
  num_experts: 8
  moe_router_topk: 2
  moe_layer_freq: ([0]*3+[1]*5)
  recompute_granularity: selective
  recompute_modules: [moe_act, layernorm]
  save: ${OUTPUT}/checkpoints
`
	options := regexp.MustCompile(`(?m)^  ([a-z_]+): `)
	test := options.ReplaceAllStringFunc(strings.Replace(strings.Replace(recipe, "\nARGS:", "\nMODEL_ARGS:", 1), "[moe_act, layernorm]", "moe_act layernorm", 1), func(s string) string {
		if strings.HasPrefix(s, "  dockerfile") {
			return s
		}
		return "  --" + strings.ReplaceAll(strings.TrimSpace(s), "_", "-") + " "
	})
	of := func(name, content string) *Result {
		r, diags := Import([]File{{Name: name, Content: []byte(content)}}, Options{Cluster: "dgx_h100", Nodes: 1, Job: "r"})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", name, diags)
		}
		return r
	}
	lines := regexp.MustCompile(`(run\.sh|[a-z]+\.yaml)( line|:)? ?\d*`)
	want := of("run.sh", script)
	for name, content := range map[string]string{"recipe.yaml": recipe, "test.yaml": test} {
		got := of(name, content)
		if d := cmp.Diff(lines.ReplaceAllString(string(want.Job), ""), lines.ReplaceAllString(string(got.Job), "")); d != "" {
			t.Errorf("%s: (-script +recipe)\n%s", name, d)
		}
		var left []string
		for _, f := range got.Findings {
			if f.Name == "DEPENDENCIES" || f.Name == "HF_TOKEN" {
				left = append(left, f.Name+" "+string(f.Verdict)+" "+f.Value)
			}
		}
		if len(left) != 2 || strings.Contains(strings.Join(left, " "), "hf_") {
			t.Errorf("%s: %q", name, left)
		}
	}
}

// TestRefused: what the release refuses is left out, and passed on where none does.
func TestRefused(t *testing.T) {
	for version, want := range map[string]bool{"core_v0.18.0": true, "core_v0.18.2": false, "core_v0.19.2": false} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte("#!/bin/bash\npretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --vocab-size 512 --micro-batch-size 1 --global-batch-size 16 --train-iters 10 --lr 1e-3 --bf16 --use-flash-attn --cross-entropy-loss-fusion --cross-entropy-fusion-impl te\n")}}, Options{Cluster: "dgx_h100", Version: version})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got := strings.Contains(string(r.Job), "--cross-entropy-fusion-impl"); got != want {
			t.Errorf("%s: passed on is %t, want %t", version, got, want)
		}
		if strings.Contains(string(r.Job), "attention ") { // nothing of megatron-core reads --use-flash-attn
			t.Errorf("%s: %s", version, r.Job)
		}
	}
}

// TestRelease: a launch whose release nobody names is for one that builds its model.
func TestRelease(t *testing.T) {
	const launch = "torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --vocab-size 512 --micro-batch-size 1 --global-batch-size 16 --train-iters 10 --lr 1e-3 --bf16 --ffn-hidden-size 4096 "
	versions := emitter("megatron").Versions()
	for options, want := range map[string]string{
		"": versions[len(versions)-1],
		"--position-embedding-type rope --disable-bias-linear --multi-latent-attention --kv-lora-rank 64": "core_v0.18.2",
	} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(launch + options)}}, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if !strings.Contains(string(r.Job), `version = "`+want+`"`) {
			t.Errorf("%q: not %s:\n%s", options, want, r.Job)
		}
	}
	r, diags := Import([]File{{Name: "run.sh", Content: []byte(launch + "--position-embedding-type rope --disable-bias-linear --multi-latent-attention")}}, Options{Cluster: "dgx_h100", Version: "core_v0.19.2"})
	if diags.HasErrors() || !strings.Contains(string(r.Job), `version = "core_v0.19.2"`) {
		t.Errorf("a release that is named stays: %v\n%s", diags, r.Job)
	}
}

// TestWholeNumbers: configurations of DeepSpeed spell whole numbers with exponents,
// as those of Hugging Face's trainer do, and their jobs load and emit.
func TestWholeNumbers(t *testing.T) {
	const config = `{"train_batch_size": 8, "bf16": {"enabled": true}, "zero_optimization": {"stage": 2, "allgather_bucket_size": 2e8, "reduce_bucket_size": 5e8, "sub_group_size": 1e9}, "optimizer": {"type": "AdamW", "params": {"lr": 3e-5}}}`
	r, diags := Import([]File{{Name: "ds_config.json", Content: []byte(config)}}, Options{Cluster: "dgx_h100", Nodes: 1})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	o := lang.Options{Variables: []lang.VariableArg{{Name: "model", Value: "llama3_8b"}, {Name: "steps", Value: "10"}}}
	w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: r.Job}}, "job.hcl", o)
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, r.Job)
	}
	if _, diags := emitter("deepspeed").Target(&w.Jobs[0]); diags.HasErrors() {
		t.Errorf("%v\n%s", diags, r.Job)
	}
}

// TestPassedOn: an option that no argument says is passed on, and left out only
// where ndc emits the same by itself.
func TestPassedOn(t *testing.T) {
	const script = "torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --ffn-hidden-size 4096 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --vocab-size 512 --micro-batch-size 1 --global-batch-size 16 --train-iters 10 --lr 1e-3 --bf16 --manual-gc-interval 77 --empty-unused-memory-level 1 --transformer-impl transformer_engine"
	r, diags := Import([]File{{Name: "run.sh", Content: []byte(script)}}, Options{Cluster: "dgx_h100"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	want := map[string]draft.Verdict{"--manual-gc-interval": draft.Passed, "--empty-unused-memory-level": draft.Passed, "--transformer-impl": draft.Left}
	for _, f := range r.Findings {
		if v, ok := want[f.Name]; ok && f.Verdict != v {
			t.Errorf("%+v, want %s", f, v)
		}
	}
	if !strings.Contains(string(r.Job), `extra_args = ["--manual-gc-interval", "77", "--empty-unused-memory-level", "1"]`) {
		t.Errorf("they are not passed on:\n%s", r.Job)
	}
}

// TestFilesOfAScript: what stands in a file that a script reads or starts is found in
// that file, by the line that it has there.
func TestFilesOfAScript(t *testing.T) {
	r, diags := Import([]File{
		{Name: "a/run.sbatch", Content: []byte("#!/bin/bash\n#SBATCH --nodes=2\nexport NCCL_DEBUG=INFO\nsource $HOME/model.sh\nsrun bash jobs/train.sh --odd-one 3\n")},
		{Name: "a/model.sh", Content: []byte("\n# of the model\nexport MODEL=\"--num-layers 8 --hidden-size 1024 --strange 4\"\nexport NCCL_ALGO=Ring\n")},
		{Name: "b/train.sh", Content: []byte("source other.sh\ntorchrun pretrain_gpt.py $MODEL --num-attention-heads 8 --micro-batch-size 1 --train-iters 10 \\\n  --queer 1 \"$@\"\n")},
	}, Options{Cluster: "dgx_h100"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	got := map[string]string{}
	for _, f := range r.Findings {
		got[f.Name] = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	for name, want := range map[string]string{
		"--strange": "a/model.sh:3", "--hidden-size": "a/model.sh:3", "NCCL_ALGO": "a/model.sh:4", "NCCL_DEBUG": "a/run.sbatch:3",
		"--odd-one": "a/run.sbatch:5", "--queer": "b/train.sh:3", "--num-attention-heads": "b/train.sh:2", "source": "b/train.sh:1", "--nodes": "a/run.sbatch:2",
	} {
		if got[name] != want {
			t.Errorf("%s is found in %q, want %s", name, got[name], want)
		}
	}
}

var spaces = regexp.MustCompile(` +`)

// TestCommandLineOfTorchTitan: what the command line says counts before the file that
// it names, in the place where it stands, and what only a run knows pins nothing.
func TestCommandLineOfTorchTitan(t *testing.T) {
	const toml = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n\n[training]\nlocal_batch_size = 2\nseq_len = 4096\nsteps = 100\n\n" +
		"[parallelism]\ntensor_parallel_degree = 1\ndata_parallel_shard_degree = 4\n\n[activation_checkpoint]\nmode = \"full\"\n\n[compile]\nenable = true\n"
	for _, c := range []struct {
		options string
		found   map[string]string // findings at run.sh
		has     []string
		without []string
	}{
		{"", nil, []string{"global_batch_size = 8\n", "micro_batch_size = 2\n", `recompute = "full"`, "steps = 100"}, nil},
		{"--training.steps=20 --training.local_batch_size 3 --parallelism.tensor_parallel_degree=2 --compile.no-enable --training.queer 4",
			map[string]string{"training.steps": "mapped", "training.local_batch_size": "mapped", "parallelism.tensor_parallel_degree": "mapped", "compile.enable": "mapped", "training.queer": "not understood"},
			[]string{"global_batch_size = 12\n", "micro_batch_size = 3\n", "tensor_parallel = 2\n", "steps = 20\n", "compile = false"}, nil},
		{"--training.local_batch_size $B --activation_checkpoint.mode=$(mode) --compile.enable",
			map[string]string{"training.local_batch_size": "not understood", "activation_checkpoint.mode": "not understood", "compile.enable": "mapped"},
			[]string{"global_batch_size = var.global_batch_size"}, []string{"micro_batch_size =", "recompute ="}},
		{"--training.local-batch-size 3 --parallelism.tensor-parallel-degree=2 --activation-checkpoint.mode none",
			map[string]string{"training.local_batch_size": "mapped", "parallelism.tensor_parallel_degree": "mapped", "activation_checkpoint.mode": "mapped"},
			[]string{"micro_batch_size = 3\n", "tensor_parallel = 2\n", `recompute = "none"`}, nil},
		{"$MORE --compile.enable $(cat options) --training.steps 20 \"$@\"",
			map[string]string{"$MORE": "not understood", "compile.enable": "not understood", "training.steps": "mapped", "$@": "not understood"},
			[]string{"steps = 20\n", "$@ may be any options of the launch"}, nil},
		{"--training.steps 20 --training.steps 30", map[string]string{"training.steps": "mapped"}, []string{"= 30\n"}, []string{"= 20\n", "= 100\n"}},
	} {
		script := "#!/bin/bash\n#SBATCH --nodes=1\nsrun torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file $CONFIG \\\n  " + c.options + "\n"
		r, diags := Import([]File{{Name: "a.toml", Content: []byte(toml)}, {Name: "run.sh", Content: []byte(script)}}, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		job := spaces.ReplaceAllString(string(r.Job), " ")
		found := map[string]string{}
		for _, f := range r.Findings {
			if f.File == "run.sh" && f.Line == 4 {
				found[f.Name] = string(f.Verdict)
			}
		}
		if !maps.Equal(found, c.found) && len(found)+len(c.found) > 0 {
			t.Errorf("%s: found %v, want %v", c.options, found, c.found)
		}
		for _, text := range c.has {
			if !strings.Contains(job, text) {
				t.Errorf("%s: the job lacks %q\n%s", c.options, text, r.Job)
			}
		}
		for _, text := range c.without {
			if strings.Contains(job, text) {
				t.Errorf("%s: the job has %q\n%s", c.options, text, r.Job)
			}
		}
	}
}

// TestUnsaidOfTorchTitan: where a configuration says nothing of layout and execution,
// the job is the release's run and no choice of ndc's.
func TestUnsaidOfTorchTitan(t *testing.T) {
	const toml = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n\n[training]\nlocal_batch_size = 2\nseq_len = 4096\nsteps = 100\n"
	r, diags := Import([]File{{Name: "a.toml", Content: []byte(toml)}}, Options{Cluster: "dgx_h100"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	job := spaces.ReplaceAllString(string(r.Job), " ")
	for _, text := range []string{"tensor_parallel = 1\n", "context_parallel = 1\n", "pipeline_parallel = 1\n", "expert_parallel = 1\n", "data_parallel_replicate = 1\n", "compile = false\n", "overlap_tensor_parallel = false\n"} {
		if !strings.Contains(job, text) {
			t.Errorf("the job lacks %q\n%s", text, r.Job)
		}
	}
}

// TestAccelerate: what accelerate makes DeepSpeed's configuration of is a job for
// DeepSpeed; its command line counts before its file, and the file that it names says
// the rest.
func TestAccelerate(t *testing.T) {
	const file = "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nmixed_precision: bf16\nfsdp_config: {}\nnum_machines: 1\nnum_processes: 8\ndeepspeed_config:\n"
	const own = "  zero_stage: 3\n  offload_optimizer_device: cpu\n  offload_param_device: none\n  gradient_accumulation_steps: 4\n  gradient_clipping: 1.0\n  odd: 3\n"
	const script = "#!/bin/bash\naccelerate launch --config_file a.yaml --num_machines 2 --num_processes 8 sft.py --lr 1\n"
	for name, c := range map[string]struct {
		files []File
		has   []string
	}{
		"alone":                {[]File{{Name: "a.yaml", Content: []byte(file + own)}}, []string{"zero_stage = 3\n", "optimizer = true\n", "parameters = false\n", "micro_batches = 4\n", "gradient_clipping = 1\n", `precision = "bf16"`, "nodes = 1\n", `version = "0.19.8"`}},
		"defaults":             {[]File{{Name: "a.yaml", Content: []byte(file + "  zero3_init_flag: false\n")}}, []string{"zero_stage = 2\n", "optimizer = false\n"}},
		"launched":             {[]File{{Name: "a.yaml", Content: []byte(file + own)}, {Name: "run.sh", Content: []byte(script)}}, []string{"nodes = 2\n", "gpus_per_node = 4\n", "zero_stage = 3\n"}},
		"open":                 {[]File{{Name: "a.yaml", Content: []byte(file + own)}, {Name: "run.sh", Content: []byte(strings.NewReplacer("machines 2", "machines $N", "processes 8", "processes=$((N*8))").Replace(script))}}, []string{"nodes = var.nodes\n", "zero_stage = 3\n"}},
		"all launched":         {[]File{{Name: "a.yaml", Content: []byte(file + own)}, {Name: "run.sh", Content: []byte(strings.Replace(script, "--num_machines 2", "--mixed_precision fp16 --zero_stage=1 --offload_optimizer_device none --gradient-accumulation-steps 2 --gradient_clipping .5 --num_machines 2", 1))}}, []string{"nodes = 2\n", "zero_stage = 1\n", "optimizer = false\n", "micro_batches = 2\n", "gradient_clipping = 0.5\n", `precision = "fp16"`}},
		"launched alone":       {[]File{{Name: "run.sh", Content: []byte("accelerate launch --use_deepspeed --num_machines 2 --num_processes 8 --mixed_precision bf16 --offload_param_device cpu --zero_stage 3 sft.py --lr 1\n")}}, []string{"nodes = 2\n", "gpus_per_node = 4\n", "zero_stage = 3\n", "parameters = true\n", "optimizer = false\n", `precision = "bf16"`, `version = "0.19.8"`}},
		"launched at stage 2":  {[]File{{Name: "run.sh", Content: []byte("accelerate launch --use_deepspeed --num_machines 2 --num_processes 8 --mixed_precision bf16 --offload_param_device cpu --zero_stage 2 sft.py --lr 1\n")}}, []string{"zero_stage = 2\n", "parameters = false\n"}},
		"launched with dashes": {[]File{{Name: "run.sh", Content: []byte("accelerate launch --use-deepspeed --num-machines=2 --num-processes 8 --mixed-precision bf16 --zero-stage 3 sft.py --lr 1\n")}}, []string{"nodes = 2\n", "gpus_per_node = 4\n", "zero_stage = 3\n"}},
		"by its own command":   {[]File{{Name: "run.sh", Content: []byte("/venv/bin/accelerate-launch --use_deepspeed --num_machines 2 --num_processes 8 --mixed_precision bf16 --zero_stage 3 sft.py --lr 1\n")}}, []string{"nodes = 2\n", "gpus_per_node = 4\n", "zero_stage = 3\n"}},
		"by its module":        {[]File{{Name: "a.yaml", Content: []byte(file + own)}, {Name: "run.sh", Content: []byte(strings.Replace(script, "accelerate launch", "python -m accelerate.commands.launch", 1))}}, []string{"nodes = 2\n", "gpus_per_node = 4\n", "zero_stage = 3\n"}},
		"launched with a file": {[]File{{Name: "ds.json", Content: []byte(`{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}, "gradient_clipping": "auto"}`)}, {Name: "run.sh", Content: []byte("accelerate launch --mixed_precision bf16 --num_processes 8 --zero_stage 3 --gradient_clipping 2 --deepspeed_config_file ds.json sft.py --lr 1\n")}}, []string{"zero_stage = 2\n", "gradient_clipping = 2\n", `precision = "bf16"`}},
		"against a file":       {[]File{{Name: "a.yaml", Content: []byte(strings.Replace(file, "bf16", "'no'", 1) + "  deepspeed_config_file: ds.json\n")}, {Name: "ds.json", Content: []byte(`{"bf16": {"enabled": true}, "zero_optimization": {"stage": 1}}`)}}, []string{"zero_stage = 1\n", `precision = "bf16"`}},
		"with a file":          {[]File{{Name: "a.yaml", Content: []byte(file + "  deepspeed_config_file: ds.json\n")}, {Name: "ds.json", Content: []byte(`{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 1}}`)}}, []string{"zero_stage = 1\n", `precision = "bf16"`}},
	} {
		r, diags := Import(c.files, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatal(name, diags)
		}
		job := spaces.ReplaceAllString(string(r.Job), " ")
		for _, text := range c.has {
			if !strings.Contains(job, text) {
				t.Errorf("%s: the job lacks %q\n%s", name, text, r.Job)
			}
		}
		for _, f := range r.Findings {
			if known := f.Name != "deepspeed_config.odd" && f.Name != "--lr" && (name != "open" || !strings.HasPrefix(f.Name, "--num_")); (f.Verdict == draft.Unknown) == known {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
	if _, diags := Import([]File{{Name: "a.yaml", Content: []byte(strings.Replace(file+own, "DEEPSPEED", "FSDP", 1))}}, Options{}); !diags.HasErrors() {
		t.Error("a configuration of another engine is read")
	}
	r, diags := Import([]File{{Name: "run.sh", Content: []byte("accelerate launch --use_deepspeed --num_processes 8 --zero_stage 3 --dynamo_backend inductor --fp8-format E4M3 --dynamo_mode=default --main_process_port 2 sft.py\n")}}, Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var named []string
	for _, f := range r.Findings {
		if f.Verdict == draft.Unknown {
			named = append(named, f.Name+" "+f.Value)
		}
	}
	if got, want := strings.Join(named, ", "), "--dynamo_backend inductor, --fp8_format E4M3, --dynamo_mode default"; got != want {
		t.Errorf("of a compiler and another engine %q is named, want %q", got, want)
	}
}

// TestTrialWithoutData: of data that a run alone knows the report does not say that
// their tokenizer is in the job.
func TestTrialWithoutData(t *testing.T) {
	const launch = "torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 128 --micro-batch-size 1 --train-iters 10 --tokenizer-type HuggingFaceTokenizer --tokenizer-model /t --split 99,1,0 --data-path "
	for path, want := range map[string]draft.Verdict{"/d": draft.Mapped, "$(find /d)": draft.Left} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(launch + path)}}, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for _, f := range r.Findings {
			if (f.Name == "--tokenizer-type" || f.Name == "--tokenizer-model" || f.Name == "--split") && f.Verdict != want {
				t.Errorf("%s: %+v, want %s", path, f, want)
			}
		}
	}
}

// TestMegatronBatch: a launch of Megatron-LM without a batch has one micro-batch for every replica.
func TestMegatronBatch(t *testing.T) {
	const options = "--num-layers 8 --hidden-size 64 --num-attention-heads 8 --seq-length 32 --max-position-embeddings 32 --micro-batch-size 2 --tensor-model-parallel-size 2 --train-iters 9 --lr 1e-4 --mock-data --bf16 --vocab-size 64 --tokenizer-type NullTokenizer"
	for launch, want := range map[string]string{
		"torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py " + options:                        "global_batch_size = 16\n",
		"torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --gas 3 " + options:                "global_batch_size = 48\n",
		"torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --global-batch-size 64 " + options: "global_batch_size = 64\n",
		"torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --global-batch-size $B " + options: "global_batch_size = var.global_batch_size\n",
		"torchrun --nnodes $N --nproc-per-node 8 pretrain_gpt.py " + options:                       "micro_batches = 1\n",
		"torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py $EXTRA " + options:                 "global_batch_size = var.global_batch_size\n",
		"torchrun --nnodes 2 --nproc-per-node 8 own.py --mine 3 " + options:                        "global_batch_size = var.global_batch_size\n",
	} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(launch + "\n")}}, Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if job := spaces.ReplaceAllString(string(r.Job), " "); !strings.Contains(job, want) {
			t.Errorf("%s: no %q in\n%s", launch, want, r.Job)
		}
	}
}

// TestTitanBatch: where nothing says TorchTitan's batch, it is that of one GPU for every
// replica, as soon as it is known how many there are.
func TestTitanBatch(t *testing.T) {
	const config = "[training]\nlocal_batch_size = 2\nsteps = 10\nseq_len = 128\n[parallelism]\ntensor_parallel_degree = 4\n[metrics]\nlog_freq = 1\n"
	for script, want := range map[string]string{
		"": "global_batch_size = var.global_batch_size",
		"torchrun --nproc_per_node=8 --rdzv_endpoint=localhost:0 -m torchtitan.train --job.config_file $C":                                               "global_batch_size = 4",
		"#SBATCH --nodes=4\nsrun torchrun --nnodes 4 --nproc_per_node 8 train.py --job.config_file x.toml":                                               "global_batch_size = 16",
		"srun torchrun --nnodes 4 --nproc_per_node 8 train.py --training.local_batch_size 8":                                                             "global_batch_size = 64",
		"srun torchrun --nnodes 4 --nproc_per_node 8 train.py --training.global_batch_size $G":                                                           "global_batch_size = var.global_batch_size",
		"srun torchrun --nnodes 4 --nproc_per_node 8 train.py --parallelism.pipeline_parallel_degree 2":                                                  "global_batch_size = 8",
		"srun torchrun --nnodes 4 --nproc_per_node 8 train.py --parallelism.pipeline_parallel_degree $P":                                                 "global_batch_size = var.global_batch_size",
		"srun torchrun --nnodes 4 --nproc_per_node 8 -m flame.train --training.gradient_accumulation_steps 3 --training.steps 9":                         "global_batch_size = 48",
		"srun torchrun --nnodes 4 --nproc_per_node 8 -m flame.train --training.gradient_accumulation_steps 3 --parallelism.data_parallel_shard_degree 8": "global_batch_size = 48",
		"srun torchrun --nnodes 4 --nproc_per_node 8 -m flame.train --training.gradient_accumulation_steps $A --training.steps 9":                        "global_batch_size = var.global_batch_size",
	} {
		files := []File{{Name: "run.toml", Content: []byte(config)}}
		if script != "" {
			files = append(files, File{Name: "run.sh", Content: []byte("#!/bin/bash\n" + script + "\n")})
		}
		r, diags := Import(files, Options{})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", script, diags)
		}
		if !strings.Contains(string(r.Job), want+"\n") {
			t.Errorf("%s: no %s in\n%s", script, want, r.Job)
		}
	}
	if r, _ := Import([]File{{Name: "run.toml", Content: []byte(config)}}, Options{Cluster: "dgx_h100", Nodes: 2}); !strings.Contains(string(r.Job), "global_batch_size = 8\n") {
		t.Errorf("two nodes of a cluster:\n%s", r.Job)
	}
}

// TestDeepSpeedBatch: of batch, micro-batch and accumulation DeepSpeed makes the one that a
// configuration leaves out, as far as it is known on how many GPUs.
func TestDeepSpeedBatch(t *testing.T) {
	const rest = `"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}}`
	for _, c := range []struct{ config, launch, want string }{
		{`"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, `, "--num_nodes 2 --num_gpus 8 train.py", "global_batch_size = 128 micro_batch_size = 2"},
		{`"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, `, "train.py", "global_batch_size = var.global_batch_size micro_batch_size = 2 micro_batches = 4"},
		{`"train_micro_batch_size_per_gpu": 2, `, "--num_nodes 2 --num_gpus 8 train.py", "global_batch_size = 32 micro_batch_size = 2"},
		{`"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": "auto", `, "--num_nodes 2 --num_gpus 8 train.py", "global_batch_size = var.global_batch_size micro_batch_size = 2"},
		{`"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "sequence_parallel_size": 4, `, "--num_nodes 2 --num_gpus 8 train.py", "global_batch_size = 32 micro_batch_size = 2"},
		{`"train_micro_batch_size_per_gpu": 2, "train_batch_size": 64, `, "--num_nodes 2 --num_gpus 8 train.py", "global_batch_size = 64 micro_batch_size = 2"},
		{`"train_batch_size": 64, `, "--num_nodes 2 --num_gpus 8 train.py", "global_batch_size = 64 micro_batches = 1"},
		{`"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", `, "--num_nodes 2 --num_gpus 8 train.py --output_dir o --deepspeed ds.json --gradient_accumulation_steps $N", "global_batch_size = var.global_batch_size micro_batch_size = 8"},
	} {
		files := []File{{Name: "ds.json", Content: []byte("{" + c.config + rest)}, {Name: "run.sh", Content: []byte("deepspeed " + c.launch + " --deepspeed_config ds.json\n")}}
		r, diags := Import(files, Options{})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", c.config, diags)
		}
		var got []string
		for line := range strings.Lines(string(r.Job)) {
			if f := strings.Fields(line); len(f) == 3 && strings.Contains(f[0], "batch") {
				got = append(got, strings.Join(f, " "))
			}
		}
		if all := strings.Join(got, " "); all != c.want {
			t.Errorf("%s %s: %s, want %s", c.config, c.launch, all, c.want)
		}
	}
}

// TestMissing: of a script whose framework is configured by a file that is not given,
// the file is named.
func TestMissing(t *testing.T) {
	for script, want := range map[string]string{
		"srun torchrun -m torchtitan.train --job.config_file ${C:-./llama3_8b.toml}":                                                          "TorchTitan is started with the configuration ./llama3_8b.toml:",
		"here=$(cd \"$(dirname \"$0\")\" && pwd)\nsrun torchrun -m torchtitan.train --job.config_file \"$here/train.toml\"":                   "TorchTitan is started with the configuration train.toml:",
		"accelerate launch --mixed_precision bf16 --use_deepspeed --deepspeed_config_file z3.conf train.py --lr 1":                            "DeepSpeed is started with the configuration z3.conf:",
		"accelerate launch --num-machines 1 --config-file z3.yaml train.py --lr 1":                                                            "accelerate is started with the configuration z3.yaml:",
		"accelerate launch --config_file z3.yaml train.py --lr 1":                                                                             "accelerate is started with the configuration z3.yaml:",
		"deepspeed --num_gpus 8 train.py --deepspeed conf/z3.json --output_dir /o":                                                            "DeepSpeed is started with the configuration conf/z3.json:",
		"torchrun train.py --deepspeed_config=conf/z3.json":                                                                                   "DeepSpeed is started with the configuration conf/z3.json:",
		"srun torchrun -m torchtitan.train --module gpt_oss --config gpt_oss_20b --training.steps 9":                                          "On line 2 TorchTitan is started with the configuration gpt_oss_20b in Python: give what it prints",
		"cat > d.json <<E\n{\"zero_optimization\": {\"stage\": 1}, \"train_batch_size\": $(nproc)}\nE\ndeepspeed train.py --deepspeed d.json": "d.json, which the script writes with values that only a run knows: give",
		"deepspeed train.py --deepspeed --lr 1":                                                                                               "On line 2 it starts train.py, whose options say no run that ndc reads.",
		"source params/$P.sh\nmpirun python m/pretrain_gpt.py \\\n  ${ALL[@]}":                                                                "On line 3 it starts m/pretrain_gpt.py with ${ALL[@]}, which nothing given says: give",
		": \"${E:=$@}\"\nif [ $N -gt 1 ]; then E+=\" a=b\"; fi\ntorchrun pretrain.py $E":                                                      "On line 4 it starts pretrain.py with ${E}, of which only a run knows what the script makes it.",
		"if [ -n \"$IMAGE\" ]; then T=./train.py; fi\nT=${T:=../train.py}\nsrun torchrun --nnodes=$N $T --num_heads=40":                       "On line 4 torchrun starts a program of which no file says the name.",
		"torchrun pretrain_gpt.py \"$@\"":                                                                                                     "starts pretrain_gpt.py with arguments of its own, which stand behind --.",
		"srun bash -c \"export RANK=\\$SLURM_PROCID && python ddp.py\"":                                                                       "it starts ddp.py, whose options say no run",
		"deepspeed \"$(dirname \"$0\")\"/sft.py --zero_stage $S":                                                                              "it starts sft.py, whose options say no run",
		"cd /repo\nsh shells/run_13b.sh":                                                                                                      "On line 3 it starts shells/run_13b.sh: give that file, too.",
		"bash \"$(realpath \"$(dirname \"$0\")/..\")/shells/local.sh\" \"$@\"":                                                                "On line 2 it starts local.sh: give that file, too.",
		"H=/w\nsource \"$H/helpers.sh\" || exit\nsource v/bin/activate\nsetup \"$@\"\neval \"${run_cmd[*]}\"":                                 "On line 3 it reads /w/helpers.sh, where what it starts may stand: give that file, too.",
		"torchrun train.py --lr 1\ndocker exec c pkill -9 -f \"swift|sft.py\"\ncp sft.py $OUT/\nssh h \"pkill -f sft.py\"":                    "On line 2 it starts train.py, whose options say no run",
		"accelerate launch --log_dir tail ddp.py --lr 1\nps aux | grep sft.py":                                                                "On line 2 it starts ddp.py, whose options say no run",
		"source $(dirname $BASH_SOURCE)/common.sh\nexport MINIBS=144":                                                                         "It sets variables alone: give the script that starts",
		"python3 -u -m lwm.train --modality=text":                                                                                             "it starts lwm.train, whose options say no run that ndc reads.",
		"torchrun --nproc_per_node=8 -m lm_engine.pretrain --config ${1}":                                                                     "it starts lm_engine.pretrain with arguments of its own",
		"torchrun --nproc_per_node=8 train/run.py\npython -m pip freeze":                                                                      "it starts train/run.py, whose",
	} {
		_, diags := Import([]File{{Name: "run.sh", Content: []byte("#!/bin/bash\n" + script + "\n")}}, Options{})
		if len(diags) != 1 || !strings.Contains(diags[0].Detail, want) {
			t.Errorf("%s: %v, want %s", script, diags, want)
		}
	}
	const named = "deepspeed train.py --deepspeed z3.json --output_dir o --max_seq_length 128"
	model := File{Name: "config.json", Content: []byte(`{"model_type": "llama", "hidden_size": 64}`)}
	for _, files := range [][]File{{{Name: "run.sh", Content: []byte(named)}}, {model, {Name: "run.sh", Content: []byte(named)}}} {
		if _, diags := Import(files, Options{}); len(diags) != 1 || diags[0].Range.Filename != "run.sh" || !strings.Contains(diags[0].Detail, "DeepSpeed is started with the configuration z3.json: give") {
			t.Errorf("beside %s: %v", files[0].Name, diags)
		}
	}
}

// TestUnwritten: a launch of DeepSpeed whose program makes its configuration is one of DeepSpeed.
func TestUnwritten(t *testing.T) {
	model := File{Name: "config.json", Content: []byte(`{"model_type": "llama", "hidden_size": 64}`)}
	for script, want := range map[string]string{
		"deepspeed --num_gpus 8 main.py --zero_stage 3":              "deepspeed",
		"torchrun --nproc_per_node 8 main.py --deepspeed --lr 1":     "deepspeed",
		"pip install deepspeed\ntorchrun --nproc_per_node 8 main.py": "megatron",
	} {
		r, diags := Import([]File{model, {Name: "run.sh", Content: []byte(script)}}, Options{})
		if diags.HasErrors() || !strings.Contains(string(r.Job), `backend "`+want+`"`) {
			t.Errorf("%s: %v, want a job of %s", script, diags, want)
		}
	}
}

// TestLengths: programs on top of the Trainer have names of their own for the length of a sequence.
func TestLengths(t *testing.T) {
	config := File{Name: "z3.json", Content: []byte(`{"zero_optimization": {"stage": 3}}`)}
	for _, name := range []string{"cutoff_len", "max_seq_length", "model_max_length", "block_size"} {
		r, diags := Import([]File{config, {Name: "run.sh", Content: []byte("deepspeed --num_gpus 8 train.py --deepspeed z3.json --output_dir o --" + name + " 1280\n")}}, Options{})
		if diags.HasErrors() || !strings.Contains(string(r.Job), "sequence_length = 1280\n") {
			t.Errorf("%s: %v\n%s", name, diags, r.Job)
		}
	}
}

// TestWritten: the configuration that a script writes counts as the file would: of several
// the one that the launch names, and as it was written last.
func TestWritten(t *testing.T) {
	const launch = "deepspeed --num_nodes 2 --num_gpus 8 train.py --deepspeed_config "
	for script, want := range map[string]string{
		"S=3\ncat > a.json <<E\n{\"zero_optimization\": {\"stage\": $S}}\nE\ntee b.json <<E\n{\"zero_optimization\": {\"stage\": 1}}\nE\n" + launch + "./b.json":                                                                                                     "zero_stage = 1 ",
		"S=3\ncat > a.json <<E\n{\"zero_optimization\": {\"stage\": $((S-1))}}\nE\n" + launch + "a.json":                                                                                                                                                             "zero_stage = 2 ",
		"cat > a.json <<E\n{\"zero_optimization\": {\"stage\": 1}}\nE\ncat > a.json <<E\n{\"zero_optimization\": {\"stage\": 2}}\nE\n" + launch + "a.json":                                                                                                           "zero_stage = 2 ",
		"C=z.json; N=4\necho '{\"train_micro_batch_size_per_gpu\": '$N'}' > $C\n" + launch + "$C":                                                                                                                                                                    "micro_batch_size = 4 ",
		launch + inBase64(`{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}`):                                                                                                                                                                          "zero_stage = 2 ",
		"C=" + inBase64(`{"zero_optimization": {"stage": 3}, "bf16": {"enabled": "???>"}}`) + "\ntorchrun --nnodes 2 --nproc_per_node 8 train.py --output_dir o --per_device_train_batch_size 3 --deepspeed=$C":                                                      "micro_batch_size = 3 ",
		"cat > ds.json <<E\n{\"zero_optimization\": {\"stage\": 2}, \"train_micro_batch_size_per_gpu\": \"auto\"}\nE\ntorchrun --nnodes 2 --nproc_per_node 8 train.py --deepspeed ds.json --output_dir o --per_device_train_batch_size 3":                            "micro_batch_size = 3 ",
		"cat > t.toml <<E\n[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 8192\n[parallelism]\ntensor_parallel_degree = 4\nE\ntorchrun --nnodes 2 --nproc_per_node 8 -m torchtitan.train --job.config_file t.toml --training.local_batch_size 2": "tensor_parallel = 4 ",
	} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte("#!/bin/bash\n" + script + "\n")}}, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Errorf("%s: %v", script, diags)
			continue
		}
		if job := spaces.ReplaceAllString(strings.ReplaceAll(string(r.Job), "\n", " "), " "); !strings.Contains(job, want) {
			t.Errorf("%s: no %s in\n%s", script, want, r.Job)
		}
	}
}

// inBase64 is a configuration as DeepSpeed takes it in place of the name of its file.
func inBase64(config string) string { return base64.URLEncoding.EncodeToString([]byte(config)) }

// TestRewritten: of a configuration that a script writes, and that is given, too, what the
// script writes counts, and the other is named where it says something else.
func TestRewritten(t *testing.T) {
	const written = "{\"zero_optimization\": {\"stage\": 2}}"
	script := File{Name: "run.sh", Content: []byte("#!/bin/bash\ncat > $D/ds.json <<E\n" + written + "\nE\ndeepspeed --num_nodes 2 --num_gpus 8 train.py --deepspeed_config $D/ds.json\n")}
	for content, want := range map[string]draft.Verdict{written: draft.Left, strings.Replace(written, "2", "3", 1): draft.Unknown} {
		r, diags := Import([]File{script, {Name: "ds.json", Content: []byte(content)}}, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Errorf("%s: %v", content, diags)
			continue
		}
		named := slices.ContainsFunc(r.Findings, func(f draft.Finding) bool { return f.File == "ds.json" && f.Verdict == want })
		if !named || !strings.Contains(spaces.ReplaceAllString(string(r.Job), " "), "zero_stage = 2") {
			t.Errorf("%s: %v\n%s", content, r.Findings, r.Job)
		}
	}
}

// TestConfigured: a program is DeepSpeed's that is given the configuration, whatever the
// option that names it, or finds it in its environment; what starts it and its own options
// are read as of one with --deepspeed.
func TestConfigured(t *testing.T) {
	for launch, want := range map[string]struct{ nodes, unknown string }{
		"torchrun --nnodes 4 --nproc_per_node 8 train.py --ds_config conf/ds.json --rate 1":             {"nodes = 4 gpus_per_node = 8", "--ds_config --rate"},
		"srun -N 2 --ntasks-per-node=8 python train.py --ds-config=ds.json":                             {"nodes = 2 gpus_per_node = 8", "--ds-config"},
		"export PL_DEEPSPEED_CONFIG_PATH=/conf/ds.json\nsrun -N 2 -n 16 python train.py --precision 16": {"nodes = 2 gpus_per_node = 8", "--precision"},
		"torchrun --nnodes 4 --nproc_per_node 8 train.py --data data.json":                              {"nodes = var.nodes", ""},
	} {
		r, diags := Import([]File{{Name: "conf/ds.json", Content: []byte(`{"train_batch_size": 64, "zero_optimization": {"stage": 2}}`)}, {Name: "run.sh", Content: []byte(launch + "\n")}}, Options{})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", launch, diags)
		}
		var unknown []string
		for _, f := range r.Findings {
			if f.File == "run.sh" && f.Verdict == draft.Unknown {
				unknown = append(unknown, f.Name)
			}
		}
		if got := strings.Join(unknown, " "); nodesOf(string(r.Job)) != want.nodes || got != want.unknown {
			t.Errorf("%s: %s, not understood %s", launch, nodesOf(string(r.Job)), got)
		}
	}
}

// TestDrivenProgram: a program of its own that DeepSpeed drives is none of Megatron-LM, whatever
// options of that name it has.
func TestDrivenProgram(t *testing.T) {
	const launch = "torchrun --nnodes 2 --nproc_per_node 8 finetune.py --model-path m --lr 1e-5 --seed 1 --save o --weight-decay 0.1 --clip-grad 1 --lr-decay-style cosine --deepspeed --deepspeed_config ds.json\n"
	r, diags := Import([]File{{Name: "ds.json", Content: []byte(`{"train_batch_size": 64, "zero_optimization": {"stage": 1}}`)}, {Name: "run.sh", Content: []byte(launch)}}, Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	named := slices.ContainsFunc(r.Findings, func(f draft.Finding) bool { return f.Name == "--lr" && f.Verdict == draft.Unknown })
	if job := string(r.Job); nodesOf(job) != "nodes = 2 gpus_per_node = 8" || !strings.Contains(job, `backend "deepspeed"`) || !named {
		t.Errorf("%v\n%s", r.Findings, job)
	}
}

// TestNestedLists: an option of a list that stands in another list is told once.
func TestNestedLists(t *testing.T) {
	const src = "A='--swiglu --bf16 --num-layers 8 --hidden-size 64 --num-attention-heads 4'\nB=\"$A --seq-length 64 --micro-batch-size 1 --max-position-embeddings 64\"\n"
	r, diags := Import([]File{{Name: "model.sh", Content: []byte(src)}}, Options{Cluster: "dgx_h100"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if len(r.Findings) != 8 {
		t.Errorf("%d settings: %+v", len(r.Findings), r.Findings)
	}
}

// TestUnknownExperts: of experts whose number a run alone knows it is asked for, also where a
// fork calls them otherwise.
func TestUnknownExperts(t *testing.T) {
	const launch = "torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --seq-length 64 --max-position-embeddings 64 --micro-batch-size 1 --global-batch-size 8 "
	for options, want := range map[string]string{"--num-experts $N": "var.experts", "--moe-num-experts=$N --moe-top-k 1": "var.experts", "--moe-num-experts=16": "16"} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(launch + options + "\n")}}, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if job := spaces.ReplaceAllString(string(r.Job), " "); !strings.Contains(job, " experts = "+want+"\n") {
			t.Errorf("%s: no %s in\n%s", options, want, r.Job)
		}
	}
}

// TestOwnParallelism: ranks that a program shares a model out over are no replicas, so that
// nobody knows the batch that DeepSpeed makes of its micro-batch.
func TestOwnParallelism(t *testing.T) {
	for options, want := range map[string]string{
		"--rate 1":                                       "global_batch_size = 16",
		"--model_parallel_size 1":                        "global_batch_size = 16",
		"--model_parallel_size 8":                        "global_batch_size = var.global_batch_size",
		"--tensor-parallel $TP":                          "global_batch_size = var.global_batch_size",
		"--output_dir o --per_device_train_batch_size 1": "global_batch_size = 16",
		"--output_dir o --per_device_train_batch_size 1 --seq_parallel_size 4":     "global_batch_size = var.global_batch_size",
		"--output_dir o --per_device_train_batch_size 1 --seq_parallel_size=-1":    "global_batch_size = var.global_batch_size",
		"--output_dir o --per_device_train_batch_size 1 --sequence_parallel false": "global_batch_size = 16",
	} {
		r, diags := Import([]File{{Name: "ds.json", Content: []byte(`{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 1}}`)}, {Name: "run.sh", Content: []byte("deepspeed --num_nodes 2 --num_gpus 8 train.py --deepspeed_config ds.json " + options + "\n")}}, Options{})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", options, diags)
		}
		if job := spaces.ReplaceAllString(string(r.Job), " "); !strings.Contains(job, want+"\n") {
			t.Errorf("%s: no %s in\n%s", options, want, r.Job)
		}
	}
}

// TestOtherConfiguration: a configuration of DeepSpeed that is read and that is not the one
// that the launch names is told of.
func TestOtherConfiguration(t *testing.T) {
	const accelerate = "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: conf/z3.json\n"
	for _, c := range []struct{ name, launch, want string }{
		{"conf/z3.json", "deepspeed train.py --deepspeed conf/z3.json", ""},
		{"z3.json", "deepspeed train.py --deepspeed=/job/conf/z3.json", ""},
		{"z2.json", "deepspeed train.py --deepspeed conf/z3.json", "--deepspeed conf/z3.json"},
		{"z2.json", "deepspeed train.py --deepspeed_config $Z", ""},
		{"z2.json", "deepspeed train.py --output_dir o --per_device_train_batch_size 1 --deepspeed z3.json", "deepspeed z3.json"},
		{"z2.json", "accelerate launch --config_file a.yaml train.py", "deepspeed_config.deepspeed_config_file conf/z3.json"},
	} {
		files := []File{{Name: c.name, Content: []byte(`{"train_batch_size": 64, "zero_optimization": {"stage": 2}}`)}, {Name: "run.sh", Content: []byte(c.launch + "\n")}}
		if strings.HasPrefix(c.launch, "accelerate") {
			files = append(files, File{Name: "a.yaml", Content: []byte(accelerate)})
		}
		r, diags := Import(files, Options{})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", c.launch, diags)
		}
		told := ""
		for _, f := range r.Findings {
			if f.Verdict == draft.Unknown && strings.Contains(f.Why, "z2.json is read") {
				told += f.Name + " " + f.Value
			}
		}
		if told != c.want {
			t.Errorf("%s: told of %q, want %q: %v", c.launch, told, c.want, r.Findings)
		}
	}
}

// TestNeoX: a configuration of GPT-NeoX is named, with the keys of DeepSpeed's in it
// and with the comments and commas that its YAML bears.
func TestNeoX(t *testing.T) {
	for name, content := range map[string]string{
		"125M.json": `{
  "pipe_parallel_size": 1, "num_layers": 12, "zero_optimization": {"stage": 1}, "train_micro_batch_size_per_gpu": 4}`,
		"20B.yml": "# as it was trained\n{\n  # layout\n  \"model-parallel-size\": 2,\n  \"zero_optimization\": {\"stage\": 1},\n}\n",
	} {
		_, diags := Import([]File{{Name: name, Content: []byte(content)}}, Options{})
		if len(diags) != 1 || diags[0].ID != UnreadableImport || !strings.Contains(diags[0].Detail, "a configuration of GPT-NeoX") {
			t.Errorf("%s: %v", name, diags)
		}
	}
}

// TestGPUsOfNode: what a node is asked for is counted by its kind, and what a job cannot
// ask for is named.
func TestGPUsOfNode(t *testing.T) {
	for directive, want := range map[string]struct{ gpus, unknown string }{
		"--gres=gpu:h100:8,nvme:100":                      {"8", "--gres nvme:100"},
		"--gres=craynetwork:1,gpu:4":                      {"4", "--gres craynetwork:1"},
		"--gres=gpu:2(S:0-1)":                             {"2", ""},
		"--gres=gpu:a100:4,gpu:h100:2":                    {"6", ""},
		"--gres=gpu":                                      {"1", ""},
		"--gres=lscratch:100":                             {"", "--gres lscratch:100"},
		"--gres=gpu:0":                                    {"", "--gres gpu:0"},
		"--gpus-per-node=mi250:8":                         {"8", ""},
		"--gpus-per-node={{gpus}}":                        {"", "--gpus-per-node {{gpus}}"},
		"--gres=gpu:<N>":                                  {"", "--gres gpu:<N>"},
		"--mem-per-gpu=100G":                              {"", "--mem-per-gpu 100G"},
		"-F hosts.txt":                                    {"", "--nodefile hosts.txt"},
		"--exclusive=user":                                {"", "--exclusive user"},
		"--exclusive\n#SBATCH --nodes=1":                  {"", ""},
		"--gpus-per-task=1 --nodes=2 --ntasks-per-node=4": {"4", ""},
		"-N 2 -n 2 --gpus-per-task=h100:8":                {"8", ""},
		"--nodes=2 --gpus=a100:16":                        {"8", ""},
		"--gpus=16":                                       {"", ""},
		"--nodes=3 --gpus=16":                             {"", ""},
		"--gres=gpu:2 --nodes=1 --gpus=4":                 {"2", ""},
		"--array=0-3 --nodes=1":                           {"", "--array 0-3"},
		"--nodes=2-4":                                     {"", "--nodes 2-4"},
		"<OPTIONS> --nodes=2":                             {"", "<OPTIONS> "},
		"--array=1-9%1 --nodes=1":                         {"", ""},
	} {
		script := "#!/bin/bash\n#SBATCH " + directive + "\npython pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --micro-batch-size 1\n"
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(script)}}, Options{})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", directive, diags)
		}
		var unknown []string
		for _, f := range r.Findings {
			if f.Line == 2 && f.Verdict == draft.Unknown {
				unknown = append(unknown, f.Name+" "+f.Value)
			}
		}
		if got := strings.Join(unknown, ";"); got != want.unknown {
			t.Errorf("%s: not understood %q, want %q", directive, got, want.unknown)
		}
		if has := strings.Contains(string(r.Job), "gpus_per_node = "+want.gpus+"\n"); want.gpus != "" && !has || strings.Contains(string(r.Job), "gpus_per_node =") && want.gpus == "" {
			t.Errorf("%s: no %s GPUs in\n%s", directive, want.gpus, r.Job)
		}
	}
}

// TestSuccession: an array of which one task runs at a time is a chain, where a run is saved
// and its tasks do not differ.
func TestSuccession(t *testing.T) {
	for _, c := range []struct {
		array, before, options string
		chain                  string
		several                bool // told to be several runs
	}{
		{"1-10%1", "", "--save /c", "chain = 10", false},
		{"0-8:4,3%1", "", "--save /c", "chain = 4", false},
		{"0-9%1", "", "--save $C", "chain = 10", false},
		{"1-10%1", "", "", "", false},
		{"1-10%1", "", "--save s3://b/c", "", false},
		{"1-10%1", "export SEED=$SLURM_ARRAY_TASK_ID", "--save /c", "", true},
		{"1-10%2", "", "--save /c", "", true},
		{"1-10", "", "--save /c", "", true},
		{"7%1", "", "--save /c", "", false},
		{"3-3%1", "", "--save /c", "", false},
		{"9-1%1", "", "--save /c", "", true},
		{"1-2-3%1", "", "--save /c", "", true},
		{"%1", "", "--save /c", "", false},
	} {
		script := fmt.Sprintf("#!/bin/bash\n#SBATCH --array=%s\n%s\npython pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --micro-batch-size 1 %s\n", c.array, c.before, c.options)
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(script)}}, Options{})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", c.array, diags)
		}
		if got := regexp.MustCompile(`chain += \d+`).FindString(string(r.Job)); got != c.chain {
			t.Errorf("%s %s: %q, want %q in\n%s", c.array, c.options, got, c.chain, r.Job)
		}
		told := slices.ContainsFunc(r.Findings, func(f draft.Finding) bool { return f.Name == "--array" && f.Verdict == draft.Unknown })
		if told != c.several {
			t.Errorf("%s %s %s: told to be several runs: %t, want %t", c.array, c.before, c.options, told, c.several)
		}
	}
}

// TestSharedNodes: a node to be shared is not asked for alone.
func TestSharedNodes(t *testing.T) {
	for directive, want := range map[string]string{"--oversubscribe": "false", "-s": "false", "--exclusive": "true"} {
		script := "#!/bin/bash\n#SBATCH --nodes=2 " + directive + "\npython pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --micro-batch-size 1\n"
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(script)}}, Options{})
		if diags.HasErrors() {
			t.Fatalf("%s: %v", directive, diags)
		}
		if !strings.Contains(string(r.Job), "exclusive = "+want+"\n") {
			t.Errorf("%s: not %s in\n%s", directive, want, r.Job)
		}
	}
}

// TestLargeRuns: what ndc emits by itself is not passed on, also of a run that most
// clusters do not hold and whose cluster no file names.
func TestLargeRuns(t *testing.T) {
	for _, layers := range []int{4, 36} { // 36 layers take 180 GiB a GPU
		script := fmt.Sprintf("torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --num-layers %d --hidden-size 8192 --num-attention-heads 64 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 32000 "+
			"--position-embedding-type rope --disable-bias-linear --micro-batch-size 1 --global-batch-size 8 --train-iters 10 --lr 1e-3 --bf16 --use-distributed-optimizer --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 --transformer-impl transformer_engine", layers)
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(script)}}, Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for _, f := range r.Findings {
			if f.Verdict == draft.Passed {
				t.Errorf("%d layers: %s is passed on: %s", layers, f.Name, f.Why)
			}
		}
	}
}

// TestTestData: data to test with are not passed on beside data that Megatron-LM takes alone.
func TestTestData(t *testing.T) {
	const launch = "torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --vocab-size 512 --micro-batch-size 1 --global-batch-size 16 --bf16 --lr 1e-3 --train-iters 10 --tokenizer-type HuggingFaceTokenizer --tokenizer-model /t "
	for data, want := range map[string]bool{
		"--test-data-path /c":                                           false,
		"--data-path /a --split 9,1,0 --test-data-path /c":              false,
		"--train-data-path /a --valid-data-path /b --test-data-path /c": true,
	} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte(launch + data + "\n")}}, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got := strings.Contains(string(r.Job), "--test-data-path"); got != want {
			t.Errorf("%s: %s", data, r.Job)
		}
	}
}

// TestTrainerFile: options of the Trainer in a file of LLaMA-Factory or TRL fill in the
// configuration of DeepSpeed beside it, those of the command line first, and a file that
// trains something else than all weights on text is refused.
func TestTrainerFile(t *testing.T) {
	const common = "model_name_or_path: m\noutput_dir: o\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 3\nlearning_rate: 1.0e-5\nmax_steps: 900\n"
	const ds = `{"train_micro_batch_size_per_gpu": "auto", "train_batch_size": "auto", "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 3}}`
	const accelerate = "distributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 4\ndeepspeed_config:\n  zero_stage: 3\n"
	for _, c := range []struct {
		yaml, engine, script string
		want                 []string
	}{
		{common + "finetuning_type: full\nstage: sft\ncutoff_len: 4096\nbf16: true\n", ds, "#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\nllamafactory-cli train x/sft.yaml learning_rate=2e-5\n",
			[]string{"learning_rate = 2e-5", "global_batch_size = 96", "recompute = \"full\"", "sequence_length = 4096", "zero_stage = 3", "precision = \"bf16\"", "steps = 900"}},
		{common + "finetuning_type: full\ndisable_gradient_checkpointing: true\n", ds, "llamafactory-cli train sft.yaml --max_steps 7\n", []string{"recompute = \"none\"", "sequence_length = 2048", "steps = 7\n"}},
		{common + "tuner_type: full\nmodel: a/b\n", ds, "swift sft sft.yaml\n", []string{"global_batch_size = var.global_batch_size", "weight_decay = 0.1", "beta2 = 0.95", "schedule \"cosine\""}},
		{common + "max_length: 8192\nlr_scheduler_type: cosine_with_min_lr\nlr_scheduler_kwargs:\n  min_lr_rate: 0.1\n", accelerate, "accelerate launch --num_machines 2 --num_processes 16 sft.py --config sft.yaml --seed 7\n",
			[]string{"global_batch_size = 96", "seed = 7", "nodes = 2", "schedule \"cosine\"", "minimum_learning_rate = 1e-6", "sequence_length = 8192"}},
	} {
		engine := File{Name: "ds.json", Content: []byte(c.engine)}
		if c.engine == accelerate {
			engine.Name = "zero3.yaml"
		}
		r, diags := Import([]File{{Name: "sft.yaml", Content: []byte(c.yaml)}, engine, {Name: "run.sh", Content: []byte("#!/bin/bash\n" + c.script)}}, Options{})
		if diags.HasErrors() {
			t.Errorf("%s: %v", c.yaml, diags)
			continue
		}
		job := spaces.ReplaceAllString(string(r.Job), " ")
		for _, want := range c.want {
			if !strings.Contains(job, want) {
				t.Errorf("%s: no %q in\n%s", c.script, want, r.Job)
			}
		}
		if c.engine == accelerate && strings.Contains(job, "recompute") {
			t.Errorf("a default of the Trainer is pinned, which TRL has otherwise:\n%s", r.Job)
		}
	}
	for yaml, want := range map[string]string{
		common + "finetuning_type: lora\n": "line 7: finetuning_type lora", common + "stage: sft\n": "trains adapters", common + "beta: 0.1\n": "model of reference", common + "use_peft: true\n": "use_peft true",
	} {
		_, diags := Import([]File{{Name: "sft.yaml", Content: []byte(yaml)}, {Name: "ds.json", Content: []byte(ds)}}, Options{})
		if len(diags) != 1 || !strings.Contains(diags[0].Detail, want) {
			t.Errorf("%s: %v, want %s", yaml, diags, want)
		}
	}
	for yaml, want := range map[string]string{"tensor_model_parallel_size: 4\n": "runs it by Megatron-LM", "finetuning_type: lora\n": "ndc plans the training of all weights"} {
		if _, diags := Import([]File{{Name: "sft.yaml", Content: []byte(common + yaml)}}, Options{}); len(diags) != 1 || !strings.Contains(diags[0].Detail, want) {
			t.Errorf("%s without a configuration of DeepSpeed: %v", yaml, diags)
		}
	}
	if _, diags := Import([]File{{Name: "sft.yaml", Content: []byte(common)}}, Options{}); len(diags) != 1 || !strings.Contains(diags[0].Detail, "the configuration of DeepSpeed") {
		t.Errorf("without a configuration of DeepSpeed: %v", diags)
	}
}

// TestModules: a program that is a module starts the run that it starts as a file, and whatever
// starts its processes.
func TestModules(t *testing.T) {
	const ds = `{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}`
	const options = " --kind /x/deepspeed --output_dir o --per_device_train_batch_size 2 --gradient_accumulation_steps 8 --learning_rate 2e-5 --max_steps 9 --bf16 True --odd 1 --deepspeed ds.json\n"
	read := func(command string) string {
		r, diags := Import([]File{{Name: "ds.json", Content: []byte(ds)}, {Name: "run.sh", Content: []byte(command)}}, Options{Cluster: "dgx_h100"})
		if diags.HasErrors() {
			t.Fatal(command, diags)
		}
		for _, f := range r.Findings {
			if f.Verdict == draft.Unknown {
				r.Job = append(r.Job, f.Name+"\n"...)
			}
		}
		return string(r.Job)
	}
	for module, file := range map[string]string{
		"srun -N 2 --ntasks-per-node 8 python -u my/sft.py":                                 "torchrun --nnodes 2 --nproc_per_node 8 my/sft.py",
		"mpirun -np 16 -N 8 python -m my.sft":                                               "torchrun --nnodes 2 --nproc_per_node 8 my/sft.py",
		"torchrun --nnodes 2 --nproc_per_node 8 -m my.sft":                                  "torchrun --nnodes 2 --nproc_per_node 8 my/sft.py",
		"python -m torch.distributed.run --nnodes 2 --nproc_per_node 8 --module my.sft":     "python -m torch.distributed.run --nnodes 2 --nproc_per_node 8 my/sft.py",
		"python wrap.py --gpus 8 -- torchrun --nnodes 2 --nproc_per_node 8 -m my.sft":       "torchrun --nnodes 2 --nproc_per_node 8 my/sft.py",
		"python wrap.py -- accelerate launch --num_machines 2 --num_processes 16 my/sft.py": "accelerate launch --num_machines 2 --num_processes 16 my/sft.py",
		"deepspeed --num_nodes 2 --num_gpus 8 --module my.sft":                              "deepspeed --num_nodes 2 --num_gpus 8 my/sft.py",
		"accelerate launch --num_machines 2 --num_processes 16 --module my.sft":             "accelerate launch --num_machines 2 --num_processes 16 my/sft.py",
	} {
		if got, want := read(module+options), read(file+options); got != want {
			t.Errorf("%s:\n%s\nas a file:\n%s", module, got, want)
		}
		for _, own := range []string{module, file} { // a script with options of its own
			if got := read(own + " --lr 1 --deepspeed_config ds.json\n"); !strings.HasSuffix(got, "--lr\n") {
				t.Errorf("%s: --lr is not named\n%s", own, got)
			}
		}
	}
}

// TestSavedWhen: a job is said to save at its end alone where its launch says nothing else.
func TestSavedWhen(t *testing.T) {
	for options, want := range map[string]bool{"--save /c": true, "--save /c --save-interval 50": false, "--save /c --save-interval $N": false} {
		r, diags := Import([]File{{Name: "run.sh", Content: []byte("torchrun pretrain_gpt.py " + options + unseenLaunch)}}, Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got := strings.Contains(string(r.Job), "saves at its end alone"); got != want {
			t.Errorf("%s: %v", options, got)
		}
	}
}

// TestNamed: a job is called as the last file that no other one reads and whose name says
// something, which that of the engine's configuration does not.
func TestNamed(t *testing.T) {
	run := File{Name: "large.sh", Content: []byte("source model.sh\ndeepspeed --hostfile hosts pretrain_gpt.py $M --micro-batch-size 1\n")}
	model := File{Name: "model.sh", Content: []byte("M='--num-layers 8 --hidden-size 64 --num-attention-heads 8 --seq-length 64'\n")}
	hosts := File{Name: "hosts", Content: []byte("a slots=8\n")}
	config := File{Name: "config.json", Content: []byte(`{"model_type": "llama", "num_hidden_layers": 8, "hidden_size": 64}`)}
	tuned := File{Name: "large.sh", Content: []byte("torchrun --nproc_per_node 8 train.py --deepspeed zero3.json --output_dir o --bf16 True\n")}
	zero := File{Name: "zero3.json", Content: []byte(`{"zero_optimization": {"stage": 3}, "train_batch_size": "auto"}`)}
	for _, files := range [][]File{{run, model, hosts}, {model, hosts, run}, {run, model, config}, {config, run, model}, {tuned, zero}, {zero, tuned}} {
		r, diags := Import(files, Options{})
		if diags.HasErrors() || !strings.Contains(string(r.Job), "job \"large\" {") {
			t.Errorf("%s last: %v\n%s", files[len(files)-1].Name, diags, r.Job)
		}
	}
}
