package megatron

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/shell"
)

func command(line string) shell.Command {
	var c shell.Command
	for _, w := range strings.Fields(line) {
		c.Words = append(c.Words, shell.Word{Text: w, Line: 1})
	}
	return c
}

// launched is the draft of a launch of the newest release.
func launched(t *testing.T, line string) *draft.Draft {
	t.Helper()
	d := draft.New()
	if err := Read(d, "run.sh", "core_v0.19.2", command(line)); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDrop: what ndc emits too is taken back, and the rest stays as it was
// written, however long.
func TestDrop(t *testing.T) {
	long := strings.Repeat("x", 300)
	d := launched(t, "torchrun pretrain_gpt.py --manual-gc-interval 100 --vocab-file /"+long+" --log-throughput --dataloader-type cyclic")
	Drop(d, command("torchrun x.py --manual-gc-interval 100 --log-throughput --dataloader-type single"))
	v, _ := d.Get(draft.Labelled("backend", Kind) + ".extra_args")
	if want := []string{"--vocab-file", "/" + long, "--dataloader-type", "cyclic"}; !slices.Equal(v.Value.([]string), want) {
		t.Errorf("got %v, want %v", v.Value, want)
	}
}

// TestLists reads the lists and layouts that Megatron-LM evaluates.
func TestLists(t *testing.T) {
	for text, want := range map[string]string{"([0]*3+[1]*2)": "[0 0 0 1 1] true", "[0,1]*2": "[0 1 0 1] true", "[1": "[] false", "([1]": "[] false", "[1]*999999": "[] false", "exec()": "[] false"} {
		list, ok := pythonList(text)
		if !ok {
			list = nil
		}
		if got := fmt.Sprint(list, ok); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{"Et*2|(t|)*2L": "Ett|t|t|L true", "(t": " false", "((t)*99999)*99999": " false"} {
		s, ok := repeated(text, 0)
		if got := fmt.Sprint(s, " ", ok); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, c := range []struct {
		kinds        string
		first, every int64
	}{{"([0]*3+[1]*5)", 3, 1}, {"([0]+[1])*4", 0, 2}, {"[1]*8", 0, 1}} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --num-experts 4 --ffn-hidden-size 64 --moe-layer-freq "+c.kinds)
		if first, every := d.Int("model.moe.first_dense_layers"), d.Int("model.moe.layer_frequency"); first != c.first || every != c.every {
			t.Errorf("%s: %d dense layers, then every %d; want %d and %d", c.kinds, first, every, c.first, c.every)
		}
	}
}

// TestBatches: lists of batches that rise by equal parts are a ramp.
func TestBatches(t *testing.T) {
	for options, want := range map[string]string{
		"--seq-length 64 --step-batch-size-schedule 0:4,512:6,1024:8":                       "8: 4 + 2 over 16",
		"--step-batch-size-schedule 0:16,2.4B:320,4.8B:624,7.2B:928 --seq-length 4096":      "928: 16 + 304 over 1757812",
		"--seq-length 64 --step-batch-size-schedule 0:4,832:6,1600:8":                       "8: 4 + 2 over 25",
		"--seq-length 64 --step-batch-size-schedule 0:8":                                    "8: 0 + 0 over 0",
		"--seq-length 64 --step-batch-size-schedule 0:4,512:6,2048:8":                       "0: 0 + 0 over 0",
		"--seq-length 64 --step-batch-size-schedule 0:8,512:4":                              "0: 0 + 0 over 0",
		"--seq-length 64 --global-batch-size 8 --step-batch-size-schedule 0:4 512:8":        "8: 0 + 0 over 0",
		"--seq-length 64 --step-batch-size-schedule 512:4":                                  "0: 0 + 0 over 0",
		"--seq-length 64 --global-batch-size 8 --rampup-batch-size 4 2 16 --no-rope-fusion": "8: 4 + 2 over 16",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 "+options)
		const ramp = "training.batch_ramp."
		got := fmt.Sprintf("%d: %d + %d over %d", d.Int("training.global_batch_size"), d.Int(ramp+"start"), d.Int(ramp+"increment"), d.Int(ramp+"sequences"))
		unread := slices.ContainsFunc(d.Findings, func(f draft.Finding) bool { return strings.Contains(f.Name, "batch") && f.Verdict == draft.Unknown })
		if got != want || unread != (strings.HasPrefix(want, "0:") || strings.Contains(options, "4 512:8")) {
			t.Errorf("%s: %s, want %s; named: %v", options, got, want, unread)
		}
	}
}

// TestSingleExpert: Megatron-LM leaves the score of a single expert as it is.
func TestSingleExpert(t *testing.T) {
	for options, want := range map[string]string{
		"--moe-router-topk 1 --moe-router-score-function sigmoid": "false",
		"--moe-router-topk 1 --moe-router-pre-softmax":            "false",
		"--moe-router-topk 2 --moe-router-score-function sigmoid": "true",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --num-experts 4 --ffn-hidden-size 64 "+options)
		if v, _ := d.Get("model.moe.router.normalize"); fmt.Sprint(v.Value) != want {
			t.Errorf("%s: normalize = %v, want %s", options, v.Value, want)
		}
	}
}

// TestElsewhere: an option of a model that stands elsewhere is named, as nobody knows what it
// changes there.
func TestElsewhere(t *testing.T) {
	for line, want := range map[string]draft.Verdict{
		"train_async.py --actor-num-nodes 4 --rotary-base 5000000": draft.Unknown,
		"pretrain_gpt.py --num-layers 8 --rotary-base 5000000":     draft.Left, // positions are learned
	} {
		d := launched(t, line+" --tensor-model-parallel-size 1")
		if i := slices.IndexFunc(d.Findings, func(f draft.Finding) bool { return f.Name == "--rotary-base" }); i < 0 || d.Findings[i].Verdict != want {
			t.Errorf("%s: %+v", line, d.Findings)
		}
	}
}

// TestFillInTheMiddle: BigCode's fork fills in the middle at any rate, the releases where they
// are asked to.
func TestFillInTheMiddle(t *testing.T) {
	for options, want := range map[string]draft.Verdict{"--fim-rate 0.5": draft.Left, "--attention-head-type multiquery --fim-rate 0.5": draft.Unknown} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 "+options)
		if i := slices.IndexFunc(d.Findings, func(f draft.Finding) bool { return f.Name == "--fim-rate" }); i < 0 || d.Findings[i].Verdict != want {
			t.Errorf("%s: %+v", options, d.Findings)
		}
	}
}

// TestForkPipeline: DeepSpeed's first Megatron-LM with a pipeline calls its degree and its
// micro-batches otherwise.
func TestForkPipeline(t *testing.T) {
	for options, want := range map[string]string{
		"--pipe-parallel-size 4 --gas 16":                        "pipeline_parallel=4 stage_layers=[2 2 2 2] micro_batches=16",
		"--pipe-parallel-size 0":                                 "pipeline_parallel=1 stage_layers=<nil> micro_batches=1",
		"--pipeline-model-parallel-size 2 --global-batch-size 8": "pipeline_parallel=2 stage_layers=[4 4] micro_batches=<nil>",
	} {
		d := launched(t, "pretrain_gpt2.py --num-layers 8 --hidden-size 64 --num-attention-heads 4 --batch-size 1 "+options)
		at := func(name string) any { v, _ := d.Get("constraints.layout." + name); return v.Value }
		if got := fmt.Sprintf("pipeline_parallel=%v stage_layers=%v micro_batches=%v", at("pipeline_parallel"), at("stage_layers"), at("micro_batches")); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestForkExperts: the experts of MegaBlocks and of DeepSpeed, and how their routers weigh one.
func TestForkExperts(t *testing.T) {
	for options, want := range map[string]string{
		"--moe-num-experts=64 --moe-top-k=1 --moe-loss-weight=0.1 --moe-capacity-factor=2 --moe-expert-model-parallelism": "experts=64 top_k=1 capacity=2 aux=0.1 normalize=false pre_softmax=true expert_parallel=<nil>",
		"--moe-num-experts 8 --moe-top-k 2":    "experts=8 top_k=2 capacity=<nil> aux=<nil> normalize=false pre_softmax=true expert_parallel=1",
		"--num-experts-switch 4":               "experts=4 top_k=<nil> capacity=<nil> aux=<nil> normalize=false pre_softmax=true expert_parallel=1",
		"--num-experts-switch 4 --topk 2":      "experts=4 top_k=2 capacity=<nil> aux=<nil> normalize=false pre_softmax=true expert_parallel=1",
		"--moe-num-experts 8":                  "experts=8 top_k=<nil> capacity=<nil> aux=<nil> normalize=false pre_softmax=true expert_parallel=1",
		"--num-experts 8 --topk 1 --deepspeed": "experts=8 top_k=1 capacity=<nil> aux=<nil> normalize=false pre_softmax=true expert_parallel=1",
		"--num-experts 8 --topk 2 --deepspeed": "experts=8 top_k=2 capacity=<nil> aux=<nil> normalize=true pre_softmax=<nil> expert_parallel=1",
		"--num-experts 8 --moe-router-topk 1":  "experts=8 top_k=1 capacity=<nil> aux=<nil> normalize=true pre_softmax=<nil> expert_parallel=1",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 4 "+options)
		at := func(path string) any { v, _ := d.Get(path); return v.Value }
		const moe = "model.moe."
		got := fmt.Sprintf("experts=%v top_k=%v capacity=%v aux=%v normalize=%v pre_softmax=%v expert_parallel=%v", at(moe+"experts"), at(moe+"top_k"), at(moe+"capacity_factor"),
			at(moe+"router.aux_coefficient"), at(moe+"router.normalize"), at(moe+"router.pre_softmax"), at("constraints.layout.expert_parallel"))
		if got != want {
			t.Errorf("%s:\n%s, want\n%s", options, got, want)
		}
	}
}

// TestTwice: of an option that stands twice the last value counts, known or not.
func TestTwice(t *testing.T) {
	line := func(words ...shell.Word) shell.Command {
		all := []shell.Word{{Text: "pretrain_gpt.py", Line: 1}, {Text: "--num-layers", Line: 1}, {Text: "8", Line: 1}}
		return shell.Command{Words: append(all, words...)}
	}
	first := []shell.Word{{Text: "--seq-length", Line: 2}, {Text: "4096", Line: 2}, {Text: "--seq-length", Line: 3}}
	for _, c := range []struct {
		last shell.Word
		want string
	}{
		{shell.Word{Text: "8192", Line: 3}, "8192"},
		{shell.Word{Text: "$LENGTH", Line: 3, Open: true}, "<nil>"},
	} {
		d := draft.New()
		if err := Read(d, "run.sh", "core_v0.19.2", line(append(slices.Clone(first), c.last)...)); err != nil {
			t.Fatal(err)
		}
		if v, _ := d.Get("model.sequence_length"); fmt.Sprint(v.Value) != c.want {
			t.Errorf("%s: %v, want %s", c.last.Text, v.Value, c.want)
		}
	}
}

// TestStates: a job has one type for both moments, and keeps none of two that differ.
func TestStates(t *testing.T) {
	for options, want := range map[string]string{
		"": "<nil>",
		"--use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16": "bf16",
		"--use-precision-aware-optimizer --exp-avg-dtype bf16":                         "<nil>",
		"--use-precision-aware-optimizer --exp-avg-sq-dtype fp8 --exp-avg-dtype bf16":  "<nil>",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 "+options)
		v, _ := d.Get("execution.optimizer_state_dtype")
		unread := slices.ContainsFunc(d.Findings, func(f draft.Finding) bool {
			return strings.HasPrefix(f.Name, "--exp-avg") && f.Verdict == draft.Unknown
		})
		if fmt.Sprint(v.Value) != want || unread != (want == "<nil>" && options != "") {
			t.Errorf("%s: %v, want %s; named: %v", options, v.Value, want, unread)
		}
	}
}

// TestRecomputedExperts: --moe-layer-recompute asks for selective recompute, of the experts beside
// what else is said (transformer_config.py).
func TestRecomputedExperts(t *testing.T) {
	for options, want := range map[string]string{
		"--moe-layer-recompute":                         "selective [core_attn moe]",
		"--moe-layer-recompute --recompute-activations": "selective [core_attn moe]",
		"--recompute-granularity selective --recompute-modules layernorm moe --moe-layer-recompute": "selective [layernorm moe]",
		"--recompute-granularity full --recompute-method uniform --moe-layer-recompute":             "full <nil>",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --num-experts 8 "+options)
		modules, _ := d.Get("constraints.layout.recompute_modules")
		if got := fmt.Sprint(d.Text("constraints.layout.recompute"), " ", modules.Value); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
		unread := slices.ContainsFunc(d.Findings, func(f draft.Finding) bool {
			return f.Name == "--moe-layer-recompute" && f.Verdict == draft.Unknown
		})
		if unread != strings.HasPrefix(want, "full") {
			t.Errorf("%s: named: %v", options, unread)
		}
	}
}

// TestMapped: of an option that is said to be mapped to an argument the job has that argument.
func TestMapped(t *testing.T) {
	for _, c := range []struct {
		options, option string
		want            draft.Verdict
	}{
		{"--train-iters 10 --lr-decay-iters 3000 --lr-warmup-fraction .01 --lr-decay-style cosine", "--lr-decay-iters", draft.Unknown},
		{"--cuda-graph-impl local", "--cuda-graph-impl", draft.Unknown},
		{"--deepspeed --log-optimizer-states-to-tensorboard", "--log-optimizer-states-to-tensorboard", draft.Left},
		{"--pipeline-model-parallel-size $PP --account-for-embedding-in-pipeline-split", "--account-for-embedding-in-pipeline-split", draft.Unknown},
		{"--pipeline-model-parallel-size 1 --decoder-first-pipeline-num-layers 8", "--decoder-first-pipeline-num-layers", draft.Left},
		{"--recompute-activations --recompute-method $METHOD", "--recompute-activations", draft.Mapped},
		{"--use-precision-aware-optimizer --main-grads-dtype bf16", "--use-precision-aware-optimizer", draft.Unknown},
		{"--use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16", "--use-precision-aware-optimizer", draft.Mapped},
		{"--use-precision-aware-optimizer --optimizer-cpu-offload", "--optimizer-cpu-offload", draft.Mapped},
		{"--use-precision-aware-optimizer --main-params-dtype fp16", "--main-params-dtype", draft.Unknown},
		{"--main-params-dtype fp16", "--main-params-dtype", draft.Unknown},
		{"--use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16 --main-params-dtype fp16", "--main-params-dtype", draft.Passed},
	} {
		d := draft.New()
		words := command("pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --seq-length 64 --global-batch-size 8 " + c.options)
		for i := range words.Words {
			words.Words[i].Open = strings.HasPrefix(words.Words[i].Text, "$")
		}
		if err := Read(d, "run.sh", "core_v0.19.2", words); err != nil {
			t.Fatal(err)
		}
		var of []draft.Finding
		for _, f := range d.Findings {
			if f.Name == c.option {
				of = append(of, f)
			}
			if f.Verdict == draft.Mapped && !d.HasBlock(f.To) {
				t.Errorf("%s: %s is mapped to %s, which the job is without", c.options, f.Name, f.To)
			}
		}
		if len(of) != 1 || of[0].Verdict != c.want {
			t.Errorf("%s: %+v, want one that is %s", c.options, of, c.want)
		}
	}
}

// TestRandomState: --no-save-rng goes with --no-save-optim, in any order; alone no
// job says it.
func TestRandomState(t *testing.T) {
	for options, want := range map[string]string{"--no-save-rng": "", "--no-save-optim": "false", "--no-save-rng --no-save-optim": "false"} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --save /c "+options)
		got := ""
		if v, ok := d.Get("training.checkpoint.save_optimizer"); ok {
			got = fmt.Sprint(v.Value)
		}
		unread := slices.ContainsFunc(d.Findings, func(f draft.Finding) bool { return f.Name == "--no-save-rng" && f.Verdict == draft.Unknown })
		if got != want || unread != (want == "") {
			t.Errorf("%s: save_optimizer %q, want %q; named: %v", options, got, want, unread)
		}
	}
}

// TestRerun: what a launch does not say of steps that are computed again, its job does
// not say either, which gets the framework's own.
func TestRerun(t *testing.T) {
	for options, want := range map[string]string{"": "", "--rerun-mode disabled": "disabled", "--rerun-mode validate_results": "validate_results"} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 "+options)
		if got := d.Text("training.rerun_mode"); got != want {
			t.Errorf("%q: rerun_mode %q, want %q", options, got, want)
		}
	}
}

// TestOwnPlaces: folders that the launch of ndc finds beside itself are no paths
// of a job; those of other scripts are not known.
func TestOwnPlaces(t *testing.T) {
	beside := `$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)`
	for text, want := range map[string]draft.Verdict{beside + "/logs/tensorboard": draft.Left, beside + "/tb": draft.Unknown} {
		c := command("pretrain_gpt.py --num-layers 8 --tensorboard-dir")
		c.Words = append(c.Words, shell.Word{Text: text, Line: 1, Open: true})
		d := draft.New()
		if err := Read(d, "run.sh", "core_v0.19.2", c); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(d.Findings, func(f draft.Finding) bool { return f.Name == "--tensorboard-dir" })
		if i < 0 || d.Findings[i].Verdict != want || d.HasBlock("training.logging") {
			t.Errorf("%s: %+v", text, d.Findings)
		}
	}
}

// TestShare: layers lie on the chunks of the pipeline as Megatron-LM shares them
// out, also where the embedding and the loss count as layers, and where the ends
// have numbers of their own.
func TestShare(t *testing.T) {
	const counted = " --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split"
	for options, want := range map[string]string{
		"--num-layers 8":           "[2 2 2 2]",
		"--num-layers 6" + counted: "[1 2 2 1]",
		"--num-layers 7 --account-for-loss-in-pipeline-split":                                                                                 "[2 2 2 1]",
		"--num-layers 14 --num-layers-per-virtual-pipeline-stage 2" + counted:                                                                 "[1 2 2 2 2 2 2 1]",
		"--num-layers 14 --num-virtual-stages-per-pipeline-rank 2" + counted:                                                                  "[1 2 2 2 2 2 2 1]",
		"--num-layers 10 --decoder-first-pipeline-num-layers 3":                                                                               "[]",
		"--num-layers 9 --decoder-first-pipeline-num-layers 3":                                                                                "[3 2 2 2]",
		"--num-layers 8 --decoder-first-pipeline-num-layers 3 --decoder-last-pipeline-num-layers 1":                                           "[3 2 2 1]",
		"--num-layers 24 --decoder-first-pipeline-num-layers 8 --decoder-last-pipeline-num-layers 4 --num-virtual-stages-per-pipeline-rank 2": "[4 3 3 2 4 3 3 2]",
		"--num-layers 8 --pipeline-model-parallel-layout Et|ttt|ttt|tL":                                                                       "[1 3 3 1]",
		"--num-layers 9": "[]",
	} {
		d := launched(t, "pretrain_gpt.py --pipeline-model-parallel-size 4 "+options)
		v, _ := d.Get("constraints.layout.stage_layers")
		list, _ := v.Value.([]int64)
		if got := fmt.Sprint(list); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestLeftOut: what a launch leaves out has the value that Megatron-LM computes for it.
func TestLeftOut(t *testing.T) {
	const gate = " --num-experts 8"
	for options, want := range map[string]string{
		"":                                "model.ffn_hidden_size=16384",
		"--swiglu":                        "model.ffn_hidden_size=10880",
		"--quick-geglu":                   "model.ffn_hidden_size=16384",
		"--ffn-hidden-size 11008":         "model.ffn_hidden_size=11008",
		"--ffn-hidden-size $FFN":          "model.ffn_hidden_size=<nil>",
		gate:                              "model.moe.expert_ffn_hidden_size=16384",
		gate + " --ffn-hidden-size $":     "model.moe.expert_ffn_hidden_size=<nil>",
		"--num-experts 4":                 "model.moe.router.bias=true",
		"--disable-bias-linear" + gate:    "model.moe.router.bias=<nil>",
		"--moe-router-pre-softmax" + gate: "model.moe.router.normalize=false",
		"--moe-router-score-function sigmoid --moe-router-pre-softmax" + gate:  "model.moe.router.normalize=true",
		"--moe-router-score-function sigmoid  --moe-router-pre-softmax" + gate: "model.moe.router.pre_softmax=<nil>",
		"--multi-latent-attention --num-attention-heads $HEADS":                "model.kv_heads=<nil>",
		"--multi-latent-attention --num-attention-heads 16":                    "model.kv_heads=16",
	} {
		d := draft.New()
		c := command("pretrain_gpt.py --num-layers 8 --hidden-size 4096 " + options)
		for i := range c.Words {
			c.Words[i].Open = strings.Contains(c.Words[i].Text, "$")
		}
		if err := Read(d, "run.sh", "core_v0.19.2", c); err != nil {
			t.Fatal(err)
		}
		path, _, _ := strings.Cut(want, "=")
		v, _ := d.Get(path)
		if got := fmt.Sprintf("%s=%v", path, v.Value); got != want {
			t.Errorf("%q: %s, want %s", options, got, want)
		}
	}
}

// TestBeyond: what acts only beside another option, or ends after the run, is
// taken out of the job and named.
func TestBeyond(t *testing.T) {
	for _, c := range []struct{ options, named, path, want string }{
		{"--train-iters 100 --lr-warmup-iters 10 --lr-decay-iters 400", "--lr-decay-iters", "training.schedule.decay_steps", "<nil>"},
		{"--train-iters 100 --lr-warmup-iters 200", "--lr-warmup-iters", "training.schedule.warmup_steps", "<nil>"},
		{"--train-iters 100 --lr-warmup-iters 10 --lr-decay-iters 80", "", "training.schedule.decay_steps", "70"},
		{"--train-iters 100 --warmup .05 --lr-decay-iters 80", "", "training.schedule.warmup_steps", "4"},
		{"--bf16 --first-last-layers-bf16 --num-layers-at-end-in-bf16 2", "--num-layers-at-end-in-bf16", "training.fp8.bf16_last_layers", "<nil>"},
		{"--fp8-format hybrid --bf16", "", "training.precision", "fp8"},
		{"--fp4-format e2m1 --bf16", "", "training.precision", "nvfp4"},
		{"--fp8-hybrid --bf16", "", "training.precision", "fp8"},
		{"--bf16 --fp8-recipe mxfp8", "--fp8-recipe", "training.precision", "bf16"},
		{"--bf16 --fp8-format e4m3 --fp8-recipe mxfp8", "", "training.precision", "mxfp8"},
		{"--hybrid-override-pattern M-M* --is-hybrid-model", "", "model.layer_pattern", "M-M*"},
		{"--hybrid-override-pattern M-M* --hidden-size 1024", "", "model.mamba.heads", "32"},
		{"--hybrid-override-pattern M-M*", "", "model.mamba.state_dim", "128"},
		{"--is-hybrid-model --mamba-state-dim 128", "", "model.mamba.state_dim", "<nil>"},
		{"--position-embedding-type rope --reset-position-ids", "", "training.data.reset_position_ids", "<nil>"},
		{"--reset-position-ids", "", "training.data.reset_position_ids", "true"},
		{"--sequence-parallel", "", "constraints.layout.sequence_parallel", "false"},
		{"--sequence-parallel --tensor-model-parallel-size 2", "", "constraints.layout.sequence_parallel", "true"},
	} {
		d := draft.New()
		if err := Read(d, "run.sh", "core_v0.18.2", command("pretrain_gpt.py --num-layers 4 "+c.options)); err != nil {
			t.Fatal(err)
		}
		v, _ := d.Get(c.path)
		if got := fmt.Sprint(v.Value); got != c.want {
			t.Errorf("%s: %s = %s, want %s", c.options, c.path, got, c.want)
		}
		for _, f := range d.Findings {
			if (f.Verdict == draft.Unknown) != (f.Name == c.named) {
				t.Errorf("%s: %+v", c.options, f)
			}
		}
	}
	d := draft.New()
	if err := Read(d, "run.sh", "core_v0.16.0", command("pretrain_mamba.py --num-layers 4 --hybrid-attention-ratio 0.5")); err != nil {
		t.Fatal(err)
	}
	if d.Has("model.layer_pattern") || d.Findings[1].Verdict != draft.Unknown {
		t.Errorf("a ratio is no pattern: %+v", d.Findings)
	}
}

// TestUnreadLabel: a kind of positions, of optimizer or of schedule that the language does
// not have, or that only a run knows, is never the release's default: a label that is none
// refuses the job.
func TestUnreadLabel(t *testing.T) {
	for options, want := range map[string]string{
		"":                                 "learned adamw linear",
		"--position-embedding-type mrope":  "mrope adamw linear",
		"--position-embedding-type xpos":   "xpos adamw linear",
		"--position-embedding-type $KIND":  "unread adamw linear",
		"--position-embedding-type? rope?": "unread adamw linear",
		"--position-embedding-type $KIND --use-rotary-position-embeddings": "rope adamw linear",
		"--optimizer lion --lr-decay-style inverse-square-root":            "learned lion inverse-square-root",
	} {
		d := draft.New()
		c := command("pretrain_gpt.py " + options)
		for i, w := range c.Words {
			c.Words[i].Open = strings.Contains(w.Text, "$")
			c.Words[i].Text, c.Words[i].Maybe = strings.CutSuffix(w.Text, "?")
		}
		if err := Read(d, "run.sh", "core_v0.19.2", c); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join([]string{d.Text("model.position_embedding"), d.Text("training.optimizer"), d.Text("training.schedule")}, " "); got != want {
			t.Errorf("%q: %s, want %s", options, got, want)
		}
	}
}

// TestOpenWords: an option whose name only a run knows, and a word that stands for the
// program with options of its own, may be any options, so that no default is taken of a
// precision, and the job says so.
func TestOpenWords(t *testing.T) {
	for line, word := range map[string]string{
		"torchrun pretrain_gpt.py --num-layers 4 --$PRECISION": "--$PRECISION",
		"$TASK --num-layers 4":                                 "$TASK",
	} {
		d := draft.New()
		c := command(line)
		for i, w := range c.Words {
			c.Words[i].Open = strings.Contains(w.Text, "$")
		}
		if err := Read(d, "run.sh", "core_v0.19.2", c); err != nil {
			t.Fatal(err)
		}
		if d.Has("training.precision") || !slices.ContainsFunc(d.Findings, func(f draft.Finding) bool { return f.Name == word && f.Verdict == draft.Unknown }) {
			t.Errorf("%s: %q, %v", line, d.Text("training.precision"), d.Findings)
		}
	}
}

// TestOpenWordsBesideFewerBits: a precision of fewer bits that the launch says is said, whatever
// else only a run knows.
func TestOpenWordsBesideFewerBits(t *testing.T) {
	for options, want := range map[string]string{
		"--bf16 --fp8-format e4m3":                    "fp8",
		"--fp8-format e4m3 --fp8-recipe mxfp8 --bf16": "mxfp8",
		"--fp4-format e2m1 --bf16":                    "nvfp4",
	} {
		c := command("torchrun pretrain_gpt.py --num-layers 4 " + options + " $MORE")
		c.Words[len(c.Words)-1].Open = true
		d := draft.New()
		if err := Read(d, "run.sh", "core_v0.19.2", c); err != nil {
			t.Fatal(err)
		}
		if got := d.Text("training.precision"); got != want {
			t.Errorf("%s: %q, want %q: %v", options, got, want, d.Findings)
		}
	}
}

// TestTemplates: words that a template has where a path belongs are none, and layers of a
// fork's own module ask for no pattern.
func TestTemplates(t *testing.T) {
	d := launched(t, "pretrain_gpt.py --save your ckpt path --data-path your data path --tokenizer-model your tokenizer --spec mindspeed.spec layer_spec")
	for _, p := range d.Paths() {
		if v, _ := d.Get(p); strings.Contains(fmt.Sprint(v.Value), "your") {
			t.Errorf("%s = %v", p, v.Value)
		}
	}
	if slices.Contains(d.Asked(), "model.layer_pattern") || !d.Unsaid("model") {
		t.Errorf("asked for %v", d.Asked())
	}
}

// TestFormerRecompute: switches of earlier releases recompute every layer by itself, unless
// others of theirs say how many together.
func TestFormerRecompute(t *testing.T) {
	for options, want := range map[string]string{
		"":                         "none  0",
		"--checkpoint-activations": "full uniform 1",
		"--checkpoint-activations --checkpoint-num-layers 2":                             "full uniform 2",
		"--activations-checkpoint-method uniform":                                        "full uniform 1",
		"--activations-checkpoint-method block --activations-checkpoint-num-layers 5":    "full block 5",
		"--activations-checkpoint-num-layers 5":                                          "none  0",
		"--recompute-granularity full --recompute-method block --recompute-num-layers 3": "full block 3",
	} {
		const layout = "constraints.layout.recompute"
		d := launched(t, "pretrain_gpt.py --num-layers 8 "+options)
		if got := fmt.Sprint(d.Text(layout), " ", d.Text(layout+"_method"), " ", d.Int(layout+"_layers")); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestLatentBiases: latent attention has no biases on its projections, whatever is asked for.
func TestLatentBiases(t *testing.T) {
	const line = "pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 4 --disable-bias-linear --add-qkv-bias"
	if d := launched(t, line); !d.Bool("model.qkv_bias") {
		t.Error("no biases")
	}
	if d := launched(t, line+" --multi-latent-attention"); d.Has("model.qkv_bias") {
		t.Error("biases that nothing has")
	}
}

// TestModelElsewhere: of a model that another file describes, the launch still says how its
// experts are spread; how its layers lie on stages goes with their number, and is named.
func TestModelElsewhere(t *testing.T) {
	const layout = "constraints.layout."
	d := launched(t, "train.py --actor-num-nodes 16 --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 --decoder-last-pipeline-num-layers 13 --expert-model-parallel-size 32 --moe-token-dispatcher-type alltoall")
	if d.Int(layout+"expert_parallel") != 32 || d.Text("execution.moe_dispatcher") == "" || d.Has(layout+"virtual_pipeline") || d.Has(layout+"pipeline_schedule") {
		t.Errorf("%v", d.Paths())
	}
	if i := slices.IndexFunc(d.Findings, func(f draft.Finding) bool { return f.Name == "--decoder-last-pipeline-num-layers" }); d.Findings[i].Verdict != draft.Unknown {
		t.Errorf("%+v", d.Findings[i])
	}
	if d := launched(t, "pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 4 --expert-model-parallel-size 1"); d.Has(layout + "expert_parallel") {
		t.Error("a dense model has experts")
	}
	for options, want := range map[string]bool{"": false, " --linear-key-head-dim 256": true} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 4 --spec fork.spec layer_spec"+options)
		if slices.Contains(d.Asked(), "model.layer_pattern") != want || d.HasBlock("model.delta_net") != want {
			t.Errorf("%q: %v", options, d.Asked())
		}
	}
}

// TestOpenPaths: a path that a command of the script makes stands in no job, and every option
// that says one, or that means nothing without it, is named.
func TestOpenPaths(t *testing.T) {
	d := draft.New()
	c := command("pretrain_gpt.py --data-path /d --tokenizer-type Llama2Tokenizer --tokenizer-model $(find)/t --pretrained-checkpoint $(find)/p --save $(find)/s")
	for i, w := range c.Words {
		c.Words[i].Open = strings.Contains(w.Text, "$")
	}
	if err := Read(d, "run.sh", "core_v0.19.2", c); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Paths() {
		if v, _ := d.Get(p); strings.Contains(fmt.Sprint(v.Value), "$(") || strings.HasPrefix(p, "training.data.tokenizer") {
			t.Errorf("%s = %v", p, v.Value)
		}
	}
	for _, f := range d.Findings {
		if f.Name != "--data-path" && f.Verdict != draft.Unknown {
			t.Errorf("%s %s: %s %s", f.Name, f.Value, f.Verdict, f.To)
		}
	}
}

// TestUnread: where an option is there and only a run knows its value, or whether
// it is there, the job neither pins the release's default nor trains with it.
func TestUnread(t *testing.T) {
	for options, want := range map[string]string{
		"":                                 "tensor_parallel=1 sequence_parallel=false pipeline_parallel=1 recompute=none zero_stage=0 precision=fp32 asked=[]",
		"--use-torch-fsdp2":                "tensor_parallel=1 sequence_parallel=false pipeline_parallel=1 recompute=none zero_stage=<nil> precision=fp32 asked=[]",
		"--tensor-model-parallel-size $TP": "tensor_parallel=<nil> sequence_parallel=false pipeline_parallel=1 recompute=none zero_stage=0 precision=fp32 asked=[]",
		"--recompute-granularity? full? --sequence-parallel? --bf16?": "tensor_parallel=1 sequence_parallel=<nil> pipeline_parallel=1 recompute=<nil> zero_stage=0 precision=<nil> asked=[]",
		"--use-distributed-optimizer? --bf16 --fp8-format? hybrid?":   "tensor_parallel=1 sequence_parallel=false pipeline_parallel=1 recompute=none zero_stage=<nil> precision=bf16 asked=[]",
		"--pipeline-model-parallel-size $PP --num-layers 8":           "tensor_parallel=1 sequence_parallel=false pipeline_parallel=<nil> recompute=none zero_stage=0 precision=fp32 asked=[]",
		"--swiglu? --num-query-groups $G --weight-decay $W":           "tensor_parallel=1 sequence_parallel=false pipeline_parallel=1 recompute=none zero_stage=0 precision=fp32 asked=[model.activation model.kv_heads training.optimizer.weight_decay]",
		"--num-experts 64 --moe-router-topk? 6?":                      "tensor_parallel=1 sequence_parallel=false pipeline_parallel=1 recompute=none zero_stage=0 precision=fp32 asked=[model.moe.top_k]",
		"--num-experts $E --moe-router-topk 6":                        "tensor_parallel=1 sequence_parallel=false pipeline_parallel=1 recompute=none zero_stage=0 precision=fp32 asked=[model.moe.experts]",
		"--moe-router-topk? 6?":                                       "tensor_parallel=1 sequence_parallel=false pipeline_parallel=1 recompute=none zero_stage=0 precision=fp32 asked=[]",
		"--position-embedding-type rope --rotary-base $B":             "tensor_parallel=1 sequence_parallel=false pipeline_parallel=1 recompute=none zero_stage=0 precision=fp32 asked=[model.position_embedding.theta]",
		"--rotary-base $B":                                            "tensor_parallel=1 sequence_parallel=false pipeline_parallel=1 recompute=none zero_stage=0 precision=fp32 asked=[]",
		"--multi-latent-attention --kv-lora-rank $R":                  "tensor_parallel=1 sequence_parallel=false pipeline_parallel=1 recompute=none zero_stage=0 precision=fp32 asked=[model.mla.kv_lora_rank]",
		"--disable-bias-linear?":                                      "tensor_parallel=1 sequence_parallel=false pipeline_parallel=1 recompute=none zero_stage=0 precision=fp32 asked=[model.attention_bias model.mlp_bias]",
	} {
		d := draft.New()
		c := command("pretrain_gpt.py " + options)
		for i, w := range c.Words {
			c.Words[i].Open = strings.Contains(w.Text, "$")
			c.Words[i].Text, c.Words[i].Maybe = strings.CutSuffix(w.Text, "?")
		}
		if err := Read(d, "run.sh", "core_v0.19.2", c); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, path := range []string{"constraints.layout.tensor_parallel", "constraints.layout.sequence_parallel", "constraints.layout.pipeline_parallel", "constraints.layout.recompute", "constraints.layout.zero_stage", "training.precision"} {
			v, _ := d.Get(path)
			got += fmt.Sprintf("%s=%v ", path[strings.LastIndexByte(path, '.')+1:], v.Value)
		}
		if got += fmt.Sprintf("asked=%v", d.Asked()); got != want {
			t.Errorf("%q:\n%s, want\n%s", options, got, want)
		}
	}
}

// TestOrder: what options say together depends on none of their order.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		path, want string
		options    []string
	}{
		{"training.precision", "fp8", []string{"--bf16", "--fp8-format hybrid"}},
		{"training.precision", "mxfp8", []string{"--fp8-recipe mxfp8", "--bf16", "--fp8-format e4m3"}},
		{"training.precision", "nvfp4", []string{"--bf16", "--fp4-format e2m1"}},
		{"constraints.layout.recompute", "selective", []string{"--recompute-activations", "--recompute-granularity full"}},
		{"model.position_embedding", "rope", []string{"--use-rotary-position-embeddings", "--position-embedding-type learned_absolute"}},
		{"execution.moe_dispatcher", "hybridep", []string{"--moe-token-dispatcher-type flex", "--moe-flex-dispatcher-backend hybridep", "--num-experts 8"}},
		{"execution.moe_dispatcher", "deepep", []string{"--moe-token-dispatcher-type flex", "--moe-enable-deepep", "--num-experts 8"}},
		{"execution.moe_dispatcher", "alltoall", []string{"--moe-token-dispatcher-type alltoall", "--moe-flex-dispatcher-backend hybridep", "--num-experts 8"}},
		{"execution.moe_dispatcher", "allgather", []string{"--moe-flex-dispatcher-backend hybridep", "--num-experts 8"}},
		{"model.moe.router.normalize", "true", []string{"--moe-router-pre-softmax", "--moe-router-score-function sigmoid", "--num-experts 8"}},
		{"model.layer_pattern", "M-M*", []string{"--hybrid-override-pattern M-M*", "--is-hybrid-model", "--num-layers 4"}},
		{"constraints.layout.zero_stage", "1", []string{"--deepspeed", "--zero-stage 1"}},
		{"training.data.reset_position_ids", "<nil>", []string{"--reset-position-ids", "--position-embedding-type rope"}},
		{"constraints.layout.zero_stage", "3", []string{"--use-megatron-fsdp", "--data-parallel-sharding-strategy optim_grads_params", "--use-distributed-optimizer"}},
		{"constraints.layout.zero_stage", "1", []string{"--data-parallel-sharding-strategy optim_grads_params", "--use-distributed-optimizer"}},
		{"constraints.layout.zero_stage", "0", []string{"--data-parallel-sharding-strategy optim_grads_params", "--num-layers 4"}},
		{"constraints.layout.zero_stage", "0", []string{"--use-megatron-fsdp", "--use-distributed-optimizer"}},
	} {
		for _, options := range [][]string{c.options, reversed(c.options)} {
			d := draft.New()
			line := "pretrain_gpt.py " + strings.Join(options, " ")
			if err := Read(d, "run.sh", "core_v0.18.2", command(line)); err != nil {
				t.Fatal(err)
			}
			if v, _ := d.Get(c.path); fmt.Sprint(v.Value) != c.want {
				t.Errorf("%s: %s = %v, want %s", line, c.path, v.Value, c.want)
			}
		}
	}
}

func reversed(list []string) []string {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

// TestUnasked: what ndc does by itself where it pays, and Megatron-LM where it is
// asked to, the job of a launch that does not ask is without.
func TestUnasked(t *testing.T) {
	const x = "execution."
	for options, want := range map[string]string{
		"": "tensor=<nil> expert=<nil> optimizer=<nil> graphs=none offload=<nil>",
		"--tensor-model-parallel-size 2 --sequence-parallel --use-distributed-optimizer":                                                                     "tensor=false expert=<nil> optimizer=<nil> graphs=none offload=false",
		"--tensor-model-parallel-size 2 --sequence-parallel --tp-comm-overlap":                                                                               "tensor=true expert=<nil> optimizer=<nil> graphs=none offload=<nil>",
		"--num-experts 8 --expert-model-parallel-size 8 --cuda-graph-impl local":                                                                             "tensor=<nil> expert=false optimizer=<nil> graphs=<nil> offload=<nil>",
		"--use-distributed-optimizer --optimizer-cpu-offload --cuda-graph-impl full_iteration":                                                               "tensor=<nil> expert=<nil> optimizer=<nil> graphs=full offload=true",
		"--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather": "tensor=<nil> expert=<nil> optimizer=false graphs=none offload=false",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 "+options)
		get := func(path string) any { v, _ := d.Get(path); return v.Value }
		got := fmt.Sprintf("tensor=%v expert=%v optimizer=%v graphs=%v offload=%v", get(x+"overlap_tensor_parallel"), get(x+"overlap_expert_parallel"),
			get(x+"overlap_optimizer_gather"), get(x+"cuda_graphs"), get(x+"offload.optimizer"))
		if got != want {
			t.Errorf("%q: %s, want %s", options, got, want)
		}
	}
}

// TestSavedWhere: a launch that saves to a folder that only a run knows saves, to one
// that is asked for; without --save nothing is, whatever else is said.
func TestSavedWhere(t *testing.T) {
	for options, want := range map[string]string{
		"--save /c/run --save-interval 50":   "interval=50 asked=[] mapped",
		"--save $(where) --save-interval 50": "interval=50 asked=[training.checkpoint.path] mapped",
		"--save-interval 50":                 "interval=0 asked=[] left out",
	} {
		c := command("pretrain_gpt.py --num-layers 8 " + options)
		for i, w := range c.Words {
			c.Words[i].Open = strings.HasPrefix(w.Text, "$(")
		}
		d := draft.New()
		if err := Read(d, "run.sh", "core_v0.19.2", c); err != nil {
			t.Fatal(err)
		}
		verdict := ""
		for _, f := range d.Findings {
			if f.Name == "--save-interval" {
				verdict = string(f.Verdict)
			}
		}
		if got := fmt.Sprintf("interval=%d asked=%v %s", d.Int("training.checkpoint.interval"), d.Asked(), verdict); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestUsual: an option that says what the release does anyway is not passed on, but for
// one in whose place ndc would put a choice of its own.
func TestUsual(t *testing.T) {
	d := launched(t, "pretrain_gpt.py --num-layers 8 --distributed-backend nccl --manual-gc-interval 0 --vocab-extra-ids 0 --dataloader-type cyclic")
	v, _ := d.Get(draft.Labelled("backend", Kind) + ".extra_args")
	if want := []string{"--manual-gc-interval", "0", "--dataloader-type", "cyclic"}; !slices.Equal(v.Value.([]string), want) {
		t.Errorf("passed on are %v, want %v", v.Value, want)
	}
	if d := launched(t, "pretrain_gpt.py --num-layers 8 --distributed-backend gloo"); !d.Has(draft.Labelled("backend", Kind) + ".extra_args") {
		t.Error("another backend is not passed on")
	}
}

// TestQuotedTwice: lists and layouts in quotes for a second shell are read as without.
func TestQuotedTwice(t *testing.T) {
	d := launched(t, "pretrain_gpt.py --num-layers 4 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et|ttt,L' --num-experts 8 --moe-layer-freq '([0]*1+[1]*3)'")
	v, _ := d.Get("constraints.layout.stage_layers")
	if got, ok := v.Value.([]int64); !ok || !slices.Equal(got, []int64{1, 3}) || d.Int("model.moe.first_dense_layers") != 1 {
		t.Errorf("layers %v, dense %d", v.Value, d.Int("model.moe.first_dense_layers"))
	}
}

// TestLatentPositions: latent attention scales its positions as YaRN does or not at
// all, whatever is said of other kinds.
func TestLatentPositions(t *testing.T) {
	const scaling = "model.position_embedding.scaling"
	for options, want := range map[string]string{
		"--multi-latent-attention --rope-type rope --use-rope-scaling --rotary-scaling-factor 1.0 --mscale 1.0": " left out",
		"--multi-latent-attention --rope-type yarn --use-rope-scaling --rotary-scaling-factor 40":               "yarn left out",
		"--use-rope-scaling": "llama3 mapped",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --use-rotary-position-embeddings "+options)
		verdict := draft.Verdict("")
		for _, f := range d.Findings {
			if f.Name == "--use-rope-scaling" {
				verdict = f.Verdict
			}
		}
		if got := d.Text(scaling+".type") + " " + string(verdict); got != want || d.HasBlock(scaling) == (want == " left out") {
			t.Errorf("%s: %q, want %q", options, got, want)
		}
	}
}

// TestCutShort: options are cut short as argparse takes them, but for those that may
// be the program's own.
func TestCutShort(t *testing.T) {
	for options, want := range map[string]string{
		"--tensor-model-par 2":              "2, Mapped",
		"--tensor-model-par 2 --own-way":    "0, the program has options of its own: this may be one, or --tensor-model-parallel-size cut short",
		"--tensor-model-par 2 --deepspeed":  "2, Mapped",
		"--tensor-model-par 2 --tensor-mod": "2, Mapped",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --hidden-size 64 "+options)
		said := ""
		for _, f := range d.Findings {
			if f.Name == "--tensor-model-par" {
				said = cmp.Or(f.Why, "Mapped")
			}
		}
		if got := fmt.Sprintf("%d, %s", d.Int("constraints.layout.tensor_parallel"), said); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestPassedAgain: of an option that is passed on and stands again the last counts.
func TestPassedAgain(t *testing.T) {
	for options, want := range map[string]string{
		"--use-mcore-models --use-mcore-models":                    "[--use-mcore-models]",
		"--ckpt-format torch --manual-gc --ckpt-format torch_dist": "[--manual-gc --ckpt-format torch_dist]",
		"--ckpt-format torch --ckpt-format torch_dist":             "[--ckpt-format torch_dist]",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --hidden-size 64 "+options)
		passed, _ := d.Get(draft.Labelled("backend", Kind) + ".extra_args")
		if got := fmt.Sprint(passed.Value); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestModelByName: the model that ms-swift trains is no option cut short, whether or not it
// stands beside others of its own.
func TestModelByName(t *testing.T) {
	for _, options := range []string{"", " --dataset c"} {
		d := launched(t, "megatron sft --model a/b --tensor_model_parallel_size 2"+options)
		i := slices.IndexFunc(d.Findings, func(f draft.Finding) bool { return f.Name == "--model" })
		if got := d.Findings[i].Why; !strings.Contains(got, "its config.json says its sizes") {
			t.Errorf("%q: %s", options, got)
		}
	}
}

// TestManyValues: more numbers than the release takes are not cut to the first, and
// words of another kind behind a value are none of it.
func TestManyValues(t *testing.T) {
	for options, want := range map[string]string{
		"--num-experts 32":                 "32, Mapped",
		"--num-experts 32 32 64":           "0, it has 3 values, of which core_v0.19.2 takes 1, [model.moe.experts]",
		"--num-experts 32 64 --bf16":       "0, it has 2 values, of which core_v0.19.2 takes 1, [model.moe.experts]",
		"--num-experts 32 32 32":           "32, Mapped",
		"--num-experts 32 and 64 of them":  "32, Mapped",
		"--rampup-batch-size 16 16 300000": "0, ",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --hidden-size 64 "+options)
		said := ""
		for _, f := range d.Findings {
			if f.Name == "--num-experts" {
				said = f.Why
				if f.Verdict == draft.Mapped {
					said = "Mapped"
				}
			}
		}
		if d.HasBlock("model.moe") && !d.Has("model.moe.experts") {
			said += fmt.Sprint(", ", d.Asked())
		}
		if got := fmt.Sprintf("%d, %s", d.Int("model.moe.experts"), said); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestSamples: a run of so many sequences ends with its last whole batch, as
// Megatron-LM ends it, and what counts in sequences is named where the batch is open.
func TestSamples(t *testing.T) {
	const ramp = " --rampup-batch-size 4 4 48"
	for options, want := range map[string]string{
		"--global-batch-size 16 --train-samples 160":                                                "10, <nil>, 0, []",
		"--global-batch-size 16 --train-samples 175":                                                "10, <nil>, 0, []",
		"--global-batch-size 16 --train-samples 175 --lr-decay-samples 175 --lr-warmup-samples 17":  "10, 2, 0, []",
		"--global-batch-size 16 --train-samples 175 --lr-decay-samples 90":                          "10, <nil>, 5, []",
		"--global-batch-size 16 --train-samples 100" + ramp:                                         "10, <nil>, 0, []", // 4 x 4, 2 x 8, 2 x 12 and 2 x 16 of 44
		"--global-batch-size 16 --train-samples 100 --lr-warmup-fraction .2":                        "6, 1, 0, []",
		"--global-batch-size 16 --train-samples 100 --lr-warmup-fraction .2" + ramp:                 "10, 5, 0, []", // 20 of 100: 4 x 4 and a step of 8
		"--global-batch-size $G --train-samples 175 --lr-warmup-samples 17":                         "0, <nil>, 0, [--global-batch-size --train-samples --lr-warmup-samples]",
		"--global-batch-size $G --train-iters 10 --lr-warmup-iters 2":                               "10, 2, 0, [--global-batch-size]",
		"--global-batch-size $G --seq-length 8 --train-iters 10 --train-tokens 99":                  "10, <nil>, 0, [--global-batch-size --train-tokens]",
		"--global-batch-size 16 --train-samples 175 --lr-decay-style WSD --lr-wsd-decay-samples 33": "10, <nil>, 2, []",
	} {
		c := command("pretrain_gpt.py --num-layers 8 --lr-decay-style cosine " + options)
		for i := range c.Words {
			c.Words[i].Open = strings.Contains(c.Words[i].Text, "$")
		}
		d := draft.New()
		if err := Read(d, "run.sh", "core_v0.16.1", c); err != nil {
			t.Fatal(err)
		}
		named := []string{}
		for _, f := range d.Findings {
			if f.Verdict == draft.Unknown {
				named = append(named, f.Name)
			}
		}
		warmup, _ := d.Get("training.schedule.warmup_steps")
		if got := fmt.Sprintf("%d, %v, %d, %v", d.Int("training.steps"), warmup.Value, d.Int("training.schedule.decay_steps"), named); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestParts: sources of training that stand apart from those of validation are
// trained on as a whole, whether or not a job can name the others.
func TestParts(t *testing.T) {
	for options, want := range map[string]string{
		"--data-path /d": "split=969,30,1 path=<nil> interval=100",
		"--train-data-path /d --valid-data-path /v":         "split=<nil> path=/v interval=100",
		"--train-data-path /d --valid-data-path 1.0 /v":     "split=<nil> path=/v interval=100",
		"--train-data-path /d --valid-data-path .5 /v 1 /w": "split=<nil> path=<nil> interval=<nil>",
		"--train-data-path /d --split 100,0,0":              "split=<nil> path=<nil> interval=<nil>",
		"--data-path /d --split 100,0,0":                    "split=<nil> path=<nil> interval=<nil>",
		"--data-path /d --split 99,0,1":                     "split=99,0,1 path=<nil> interval=<nil>",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --eval-interval 100 --eval-iters 10 "+options)
		get := func(path string) any { v, _ := d.Get("training.data." + path); return v.Value }
		if got := fmt.Sprintf("split=%v path=%v interval=%v", get("split"), get("validation.path"), get("validation.interval")); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestBlend: sources with weights have these; without, those of a launch count by their
// sizes, which a job does not know.
func TestBlend(t *testing.T) {
	for options, want := range map[string]string{
		"--data-path /a":                   "<nil>  []",
		"--data-path 2 /a":                 "2  []",
		"--data-path .3 /a .7 /b":          "0.3  []",
		"--data-path /a /b":                "1 the launch reads each source once [--data-path]",
		"--train-data-path /a /b /c":       "1 the launch reads each source once [--train-data-path]",
		"--data-path /a /b --split 90,9,1": "1 the launch reads each source once [--data-path]",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 "+options)
		named := []string{}
		for _, f := range d.Findings {
			if f.Verdict == draft.Unknown {
				named = append(named, f.Name)
			}
		}
		v, _ := d.Get(draft.Labelled("training.data.source", "a") + ".weight")
		if got := fmt.Sprintf("%v %s %v", v.Value, v.Note, named); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestCommand: of commands with as many options of the release the one with the
// fewest others is the launch: a tool has some of its own.
func TestCommand(t *testing.T) {
	const options = " --num-layers 8 --hidden-size 64 --seq-length 128 --lr 1e-4 --bf16"
	convert, train := command("torchrun --nnodes 1 convert.py --hf-shards 2 --save /c"+options), command("torchrun --nnodes 1 --tee 3 train.py --load /c"+options)
	for _, commands := range [][]shell.Command{{convert, train}, {train, convert}} {
		c, ok := Command(&shell.Script{Commands: commands})
		if got := c.Words[len(c.Words)-len(strings.Fields(options))-3].Text; !ok || got != "train.py" {
			t.Errorf("%s starts the run", got)
		}
	}
}

// TestUnnamed: a program whose name only a run knows ends the options of its launcher.
func TestUnnamed(t *testing.T) {
	for line, want := range map[string]string{
		"torchrun --nnodes 2 --nproc_per_node 4 $P --num-layers 8":          "2 x 4 [$P]",
		"torchrun --nnodes=2 --nproc_per_node=4 $P --num-layers 8":          "2 x 4 [$P]",
		"torchrun --nnodes 2 --nproc_per_node $N $P --num-layers 8":         "2 x 0 [$P]",
		"torchrun --nproc_per_node 4 --nnodes 2 $D/run.py --num-layers 8":   "2 x 4 []",
		"torchrun --nnodes 2 --nproc_per_node 4 run.py $P --num-layers 8":   "2 x 4 [$P]",
		"torchrun --nnodes 2 --nproc_per_node 4 -m a.run $P --num-layers 8": "2 x 4 [$P]",
	} {
		c := command(line)
		for i := range c.Words {
			c.Words[i].Open = strings.Contains(c.Words[i].Text, "$")
		}
		d := draft.New()
		if err := Read(d, "run.sh", "", c); err != nil {
			t.Fatal(err)
		}
		named := []string{}
		for _, f := range d.Findings {
			if f.Verdict == draft.Unknown {
				named = append(named, f.Name)
			}
		}
		if got := fmt.Sprintf("%d x %d %v", d.Int("cluster.nodes"), d.Int("cluster.gpus_per_node"), named); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestLauncher: torchrun and DeepSpeed's launcher say how many nodes and GPUs there are.
func TestLauncher(t *testing.T) {
	for start, want := range map[string]string{
		"torchrun --nnodes 2 --nproc_per_node 4":                                "2 x 4",
		"deepspeed --num_nodes=2 --num_gpus 4":                                  "2 x 4",
		"torchrun --standalone --nproc-per-node=8":                              "1 x 8",
		"torchrun --nproc_per_node 8 --rdzv_endpoint=localhost:0":               "1 x 8",
		"torchrun --nnodes $N --nproc_per_node 8 --rdzv_endpoint localhost:290": "0 x 8",
		"torchrun --nproc_per_node 8 --rdzv_endpoint node1:29500":               "0 x 8",
		"python": "0 x 0",
	} {
		d := launched(t, start+" pretrain_gpt.py --num-layers 8")
		if got := fmt.Sprintf("%d x %d", d.Int("cluster.nodes"), d.Int("cluster.gpus_per_node")); got != want {
			t.Errorf("%s: %s, want %s", start, got, want)
		}
	}
}

// TestCapacity: what forks say of experts' capacity, and of heads, is read in any order.
func TestCapacity(t *testing.T) {
	for options, want := range map[string]string{
		"--moe-train-capacity-factor 1.5 --moe-eval-capacity-factor 2 --moe-min-capacity 4": "true 1.5 <nil>",
		"--moe-train-capacity-factor 1.5 --disable-moe-token-dropping":                      "false <nil> <nil>",
		"--disable-moe-token-dropping --moe-train-capacity-factor 1.5":                      "false <nil> <nil>",
		"--n-head-kv 4": "<nil> <nil> 4",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --num-experts 8 --ffn-hidden-size 64 --num-attention-heads 8 "+options)
		get := func(path string) any { v, _ := d.Get(path); return v.Value }
		kv := get("model.kv_heads")
		if !strings.Contains(options, "kv") {
			kv = nil
		}
		if got := fmt.Sprint(get("model.moe.token_drop"), " ", get("model.moe.capacity_factor"), " ", kv); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
		for _, f := range d.Findings {
			if f.Verdict == draft.Unknown {
				t.Errorf("%s: %+v", options, f)
			}
		}
	}
}

// TestPaddedVocabulary: an embedding has as many rows as the launch says, whatever ndc would
// round up to.
func TestPaddedVocabulary(t *testing.T) {
	for options, want := range map[string]string{
		"--padded-vocab-size 151936 --tensor-model-parallel-size 4":                     "151936 151936",
		"--padded-vocab-size 152064 --tensor-model-parallel-size 4":                     "152064 <nil>",
		"--vocab-size 151643 --padded-vocab-size 151936 --tensor-model-parallel-size 4": "151643 151936",
		"--vocab-size 50257 --padded-vocab-size 50304":                                  "50257 <nil>",
	} {
		d := draft.New()
		if err := Read(d, "run.sh", "core_v0.19.2", command("pretrain_gpt.py --num-layers 8 "+options)); err != nil {
			t.Fatal(err)
		}
		size, _ := d.Get("model.vocab_size")
		padded, _ := d.Get("model.padded_vocab_size")
		if got := fmt.Sprint(size.Value, " ", padded.Value); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestPathsAreNoOptions: a file below a folder that a variable names is a value, and nothing
// is asked for on its account.
func TestPathsAreNoOptions(t *testing.T) {
	c := command("pretrain_gpt.py --num-layers 4 --own aime $BASE/data/aime.jsonl")
	c.Words[len(c.Words)-1].Open = true
	d := draft.New()
	if err := Read(d, "run.sh", "core_v0.19.2", c); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(d.Findings, func(f draft.Finding) bool { return strings.HasPrefix(f.Name, "$") }) || !d.Has("training.precision") {
		t.Errorf("%v", d.Findings)
	}
}

// TestTextsAreNoOptions: a word that begins with text of its own is a value of the option
// before it, whatever a variable in it stands for.
func TestTextsAreNoOptions(t *testing.T) {
	c := command("pretrain_gpt.py --num-layers 4 --sets en:$EN ar:$AR /data/$C --micro-batch-size 1")
	for i, w := range c.Words {
		c.Words[i].Open = strings.Contains(w.Text, "$")
	}
	d := draft.New()
	if err := Read(d, "run.sh", "core_v0.19.2", c); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(d.Findings, func(f draft.Finding) bool { return f.Name == "--sets" && f.Value == "en:$EN ar:$AR /data/$C" }) || !d.Has("training.precision") {
		t.Errorf("%v", d.Findings)
	}
}

// TestProgramAmongFiles: a Python file that is the value of an option begins no options of its
// own, and the last of several that start each other does.
func TestProgramAmongFiles(t *testing.T) {
	const options = " --num-layers 8 --hidden-size 64 --num-attention-heads 8 --micro-batch-size 1 --seq-length 64 --max-position-embeddings 64"
	for command, want := range map[string]string{
		"torchrun pretrain_gpt.py" + options + " --spec tools/layers.py layers":                 "pretrain_gpt.py",
		"torchrun pretrain_gpt.py --spec tools/layers.py layers" + options:                      "pretrain_gpt.py",
		"torchrun pretrain_gpt.py" + options + " --spec=tools/layers.py":                        "pretrain_gpt.py",
		"torchrun train.py --num_layers 8 --other x.py --tensor_model_parallel_size 2":          "train.py",
		"torchrun --nproc_per_node 8 -m my.pretrain" + options:                                  "my.pretrain",
		"python -m torch.distributed.run --nproc_per_node 8 pretrain_gpt.py" + options:          "pretrain_gpt.py",
		"srun -m cyclic:block python pretrain_gpt.py" + options:                                 "pretrain_gpt.py",
		"python bind.py --cpu exclusive launch.py --nproc_per_node 8 pretrain_gpt.py" + options: "pretrain_gpt.py",
	} {
		c := shell.Command{}
		for word := range strings.FieldsSeq(command) {
			c.Words = append(c.Words, shell.Word{Text: word, Line: 1})
		}
		before, read := cut("run.sh", c.Words)
		if got := before[len(before)-1].Text; got != want || len(read) < 3 {
			t.Errorf("%s: the program is %s, with %d options", command, got, len(read))
		}
	}
}

// TestProgramBlocks: the letters of a pattern are the blocks that the program builds for them.
func TestProgramBlocks(t *testing.T) {
	const options = " --num-layers 4 --hidden-size 64 --num-experts 8 --moe-shared-expert-intermediate-size 64 --mamba-num-heads 8 --hybrid-override-pattern M-*-"
	for program, want := range map[string]string{
		"pretrain_mamba.py":      "M-*- nemotron_h 8 <nil> <nil> <nil>",
		"pretrain_qwen3_next.py": "GE*E qwen3_next <nil> 32 true true",
	} {
		d := draft.New()
		if err := Read(d, "run.sh", "core_v0.16.0", command("torchrun "+program+options)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, path := range []string{"model.layer_pattern", "model.architecture", "model.mamba.heads", "model.delta_net.value_heads", "model.attention_output_gate", "model.moe.shared_expert_gate"} {
			v, _ := d.Get(path)
			got = append(got, fmt.Sprint(v.Value))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", program, got, want)
		}
		heads := slices.IndexFunc(d.Findings, func(f draft.Finding) bool { return f.Name == "--mamba-num-heads" })
		if mapped := d.Findings[heads].Verdict == draft.Mapped; mapped != (program == "pretrain_mamba.py") {
			t.Errorf("%s: %v", program, d.Findings[heads])
		}
	}
}

// TestLinearAttention: layers with a gated delta net in the place of attention are a mixer and
// what follows it each, and what counts layers counts both.
func TestLinearAttention(t *testing.T) {
	const model = "pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-experts 8 --linear-num-key-heads 4 --pipeline-model-parallel-size 2 --recompute-granularity full --recompute-method uniform --recompute-num-layers 2 "
	for options, want := range map[string]string{
		"--experimental-attention-variant gated_delta_net --linear-attention-freq 4":                     "GEGEGE*EGEGEGE*E 16 [8 8] 4 qwen3_next",
		"--linear-attention-freq ([1,0]*4) --moe-layer-freq ([0]*2+[1]*6) --mtp-num-layers 1":            "G-*-GE*EGE*EGE*E 16 [8 8] 4 qwen3_next *E",
		"--linear-attention-freq 4 --num-layers-per-virtual-pipeline-stage 2":                            "GEGEGE*EGEGEGE*E 16 [4 4 4 4] 4 qwen3_next",
		"--experimental-attention-variant dsa --linear-attention-freq 4":                                 " 8 [4 4] 2 mixtral",
		"--linear-attention-freq 4 --hybrid-layer-pattern *E*E*E*E":                                      "*E*E*E*E 8 [4 4] 2 nemotron_h",
		"--experimental-attention-variant gated_delta_net --linear-attention-freq 4 --moe-layer-freq $M": " 8 [4 4] 2 mixtral",
	} {
		c := command(model + options)
		for i, w := range c.Words {
			c.Words[i].Open = strings.HasPrefix(w.Text, "$")
		}
		d := draft.New()
		if err := Read(d, "run.sh", "core_v0.19.2", c); err != nil {
			t.Fatal(err)
		}
		stages, _ := d.Get("constraints.layout.stage_layers")
		got := fmt.Sprint(d.Text("model.layer_pattern"), " ", d.Int("model.layers"), " ", stages.Value, " ", d.Int("constraints.layout.recompute_layers"), " ", d.Text("model.architecture"))
		if mtp := d.Text("model.mtp_layer_pattern"); mtp != "" {
			got += " " + mtp
		}
		if got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestInterpolation: positions that are stretched by one are not scaled.
func TestInterpolation(t *testing.T) {
	for factor, want := range map[string]string{"1": "", "1.0": "", "8": "linear"} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --position-embedding-type rope --rotary-seq-len-interpolation-factor "+factor)
		if got := d.Text("model.position_embedding.scaling.type"); got != want || d.Has("model.position_embedding.scaling.factor") != (want != "") {
			t.Errorf("%s: %q, want %q", factor, got, want)
		}
	}
}
