package megatron

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/shell"
	language "github.com/ndc-dev/ndc/lang/schema"
)

// settled are words that several options say together, of which complete makes
// those of the language.
var settled = map[string]string{"--cuda-graph-impl": "local", "--fp8-recipe": "mxfp8"}

// TestRows: every row is about an option that a release has, names an argument or
// block of the language with values that it takes, and has a source.
func TestRows(t *testing.T) {
	for name, w := range rows() {
		known := slices.ContainsFunc(megatron.Backend{}.Versions(), func(version string) bool {
			table, _ := megatron.Tables(version)
			return table.Has(name)
		})
		if !known || !strings.HasPrefix(w.Source, "Megatron-LM core_v") || !strings.Contains(w.Source, ".py") {
			t.Errorf("%s: known to a release: %v, source %q", name, known, w.Source)
		}
		if w.Argument == "" && w.Silent == "" || w.Values != nil && w.Says != nil {
			t.Errorf("%s says nothing, or two things", name)
		}
		values := []any{}
		for _, v := range w.Values {
			values = append(values, v)
		}
		if w.Says != nil {
			values = append(values, w.Says)
		}
		if a, _ := language.At(w.Argument); w.Argument != "" && a != nil {
			for _, v := range values {
				if text, isText := v.(string); isText && a.Enum != nil && text != settled[name] && !slices.Contains(a.Enum, text) {
					t.Errorf("%s: %q is no value of %s", name, text, w.Argument)
				}
			}
		} else if b := blockAt(w.Argument); w.Argument != "" && (b == nil || len(b.Labels) == 0 && w.Says != true) {
			t.Errorf("%s: the language has no %s", name, w.Argument)
		} else if w.Argument != "" && w.Says != true {
			for _, v := range values {
				if !slices.Contains(b.Labels, fmt.Sprint(v)) {
					t.Errorf("%s: %v is no label of %s", name, v, w.Argument)
				}
			}
		}
	}
}

// blockAt finds the block of the language at a path of a job or model.
func blockAt(path string) *language.Block {
	b := language.File.Block("job")
	words := strings.Split(path, ".")
	if words[0] == "model" || words[0] == "cluster" {
		b, words = language.File.Block(words[0]), words[1:]
	}
	for _, w := range words {
		if b = b.Block(w); b == nil {
			return nil
		}
	}
	return b
}

// TestFormer: options of earlier releases and forks are none of a release that ndc
// emits for, or are read as another of its, say one thing and have a source; a job is
// not pinned by the defaults of what they say.
func TestFormer(t *testing.T) {
	for name, w := range former() {
		for _, version := range (megatron.Backend{}).Versions() {
			if table, _ := megatron.Tables(version); table.Has(name) && !table.Has(w.As) {
				t.Errorf("%s: %s has it", name, version)
			}
		}
		said := 0
		for _, one := range []bool{w.Argument != "", w.Left != "", w.Why != ""} {
			if one {
				said++
			}
		}
		a, _ := language.At(w.Argument)
		if said != 1 || !strings.Contains(w.Source, ".py") || w.Argument != "" && a == nil {
			t.Errorf("%s: says %d things, source %q", name, said, w.Source)
		}
	}
	for options, want := range map[string]string{
		"":                              "zero_stage=0 precision=bf16 padded=<nil>",
		"--deepspeed":                   "zero_stage=<nil> precision=bf16 padded=<nil>",
		"--deepspeed --zero-stage 1":    "zero_stage=1 precision=bf16 padded=<nil>",
		"--deepspeed --zero-stage 0":    "zero_stage=<nil> precision=bf16 padded=<nil>",
		"--deepspeed --zero-stage 3":    "zero_stage=<nil> precision=bf16 padded=<nil>",
		"--pad-vocab-size-to 250880":    "zero_stage=0 precision=bf16 padded=250880",
		"--fp8-hybrid --data-impl mmap": "zero_stage=0 precision=fp8 padded=<nil>",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --bf16 "+options)
		get := func(path string) any { v, _ := d.Get(path); return v.Value }
		if got := fmt.Sprintf("zero_stage=%v precision=%v padded=%v", get("constraints.layout.zero_stage"), get("training.precision"), get("model.padded_vocab_size")); got != want {
			t.Errorf("%q: %s, want %s", options, got, want)
		}
	}
}

// TestActivations: an activation that a fork has and the language has not stands in the job
// under its own word, and is named.
func TestActivations(t *testing.T) {
	for options, want := range map[string]string{"": "gelu", "--swiglu": "swiglu", "--xielu": "xielu ?", "--xiprelu": "xiprelu ?"} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 "+options)
		got := d.Text("model.activation")
		if slices.ContainsFunc(d.Findings, func(f draft.Finding) bool { return f.Name == options && f.Verdict == draft.Unknown }) {
			got += " ?"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", options, got, want)
		}
	}
}

// TestFormerStages: a stage of DeepSpeed that is not the zero_stage of Megatron-LM of that
// number is told as that, and not as no value of it.
func TestFormerStages(t *testing.T) {
	for stage, want := range map[string]string{"0": "so that it is not the zero_stage 0 of Megatron-LM", "2": "ZeRO 2 in Megatron-FSDP alone", "3": "ZeRO 3 in Megatron-FSDP alone", "7": "no value of constraints.layout.zero_stage"} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --bf16 --deepspeed --zero-stage "+stage)
		told := func(f draft.Finding) bool {
			return f.Name == "--zero-stage" && f.Verdict == draft.Unknown && strings.Contains(f.Why, want)
		}
		if !slices.ContainsFunc(d.Findings, told) {
			t.Errorf("%s: %+v", stage, d.Findings)
		}
	}
}

// TestFieldNames: the name of a field of the data is no secret, whatever key it is called;
// a key is.
func TestFieldNames(t *testing.T) {
	d := launched(t, "train.py --num-layers 8 --input-key prompt --label-key reward_model --multimodal-keys images --wandb-key 0123abc --api-key qwerty --other-key qwertyuiopasdfghjklzxcvb --auth-token abc --my-password letmein --num-key-value-heads=$(jq .num_key_value_heads config.json) --query-key-scale 0x2a")
	want := map[string]string{"--input-key": "prompt", "--label-key": "reward_model", "--multimodal-keys": "images", "--wandb-key": "(hidden)", "--api-key": "(hidden)", "--other-key": "(hidden)", "--auth-token": "(hidden)", "--my-password": "(hidden)",
		"--num-key-value-heads": "$(jq .num_key_value_heads config.json)", "--query-key-scale": "0x2a"}
	for _, f := range d.Findings {
		if value, asked := want[f.Name]; asked && f.Value != value {
			t.Errorf("%s is shown as %s, want %s", f.Name, f.Value, value)
		}
		delete(want, f.Name)
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
}

// TestFormerWords: words of forks are read, and are none that a release takes.
func TestFormerWords(t *testing.T) {
	for name, w := range rows() {
		for word := range w.Former {
			for _, version := range (megatron.Backend{}).Versions() {
				if table, _ := megatron.Tables(version); table.Has(name) && table.Check(name, word) == nil {
					t.Errorf("%s %s: %s takes it", name, word, version)
				}
			}
		}
	}
	for kind, want := range map[string]string{"alibi": "alibi", "rotary": "rope", "absolute": "learned", "learned_absolute": "learned"} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --position-embedding-type "+kind)
		if got := d.Text("model.position_embedding"); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
		for _, f := range d.Findings {
			if f.Name == "--position-embedding-type" && f.Verdict != draft.Mapped {
				t.Errorf("%s: %+v", kind, f)
			}
		}
	}
}

// TestNoRecompute: ms-swift, which recomputes unless it is told not to, has a word for that.
func TestNoRecompute(t *testing.T) {
	for options, want := range map[string]string{"": "selective", " --recompute_granularity none": "none"} {
		if got := launched(t, "megatron sft --model a/b --tensor_model_parallel_size 2"+options).Text("constraints.layout.recompute"); got != want {
			t.Errorf("%s: %q, want %q", options, got, want)
		}
	}
}

// TestFormerTokenizer: how forks name a tokenizer of Hugging Face and where it is.
func TestFormerTokenizer(t *testing.T) {
	for path, want := range map[string]string{"/t/llama": "/t/llama", "$TOKENIZER": "$TOKENIZER"} {
		c := command("pretrain_gpt.py --num-layers 8 --data-path /d --tokenizer-type PretrainedFromHF --tokenizer-name-or-path " + path)
		c.Words[len(c.Words)-1].Open = strings.HasPrefix(path, "$")
		d := draft.New()
		if err := Read(d, "run.sh", "core_v0.19.2", c); err != nil {
			t.Fatal(err)
		}
		if kind, got := d.Text("training.data.tokenizer"), d.Text("training.data.tokenizer.path"); kind != "huggingface" || got != want {
			t.Errorf("%q of %q: %v", kind, got, d.Findings)
		}
	}
}

// TestMegatronLLaMA: its switches of the model, and the optimizer that shards and that
// overlaps by itself, so that the release's defaults say nothing of that.
func TestMegatronLLaMA(t *testing.T) {
	d := launched(t, "pretrain_llama.py --num-layers 8 --bf16 --RMSNorm --causal-lm --overlapped-distributed-optimizer")
	for path, want := range map[string]any{"model.normalization": "rmsnorm", "model.tied_embeddings": false, "constraints.layout.zero_stage": int64(1), "execution.overlap_gradient_reduce": nil, "execution.overlap_parameter_gather": nil} {
		if v, _ := d.Get(path); v.Value != want {
			t.Errorf("%s = %v, want %v: %v", path, v.Value, want, d.Findings)
		}
	}
}

// TestKuaishou: norms as Kuaishou's fork spells them, and its recompute of modules, beside which
// the release's default says nothing.
func TestKuaishou(t *testing.T) {
	for _, c := range []struct {
		options   string
		recompute any
	}{{"", "none"}, {" --kaimm-recompute-norm", nil}, {" --kaimm-recompute-mlp-activation-func", nil}} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --rms-norm --use-fast-rms-norm --use-fast-rope"+c.options)
		if v, _ := d.Get("constraints.layout.recompute"); d.Text("model.normalization") != "rmsnorm" || v.Value != c.recompute {
			t.Errorf("%s: %s, %v: %v", c.options, d.Text("model.normalization"), v.Value, d.Findings)
		}
	}
}

// TestOpenGPTX: the gated activation of two matrices, and the tokenizers, of OpenGPT-X.
func TestOpenGPTX(t *testing.T) {
	for kind, want := range map[string]string{"OpenGPTX-SPTokenizer": "sentencepiece", "OpenGPTX-PretrainedHFTokenizer": "huggingface"} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --data-path /d --t5-swiglu --tokenizer-model /t --tokenizer-type "+kind)
		if activation, got := d.Text("model.activation"), d.Text("training.data.tokenizer"); activation != "swiglu" || got != want {
			t.Errorf("%s: %q, %q: %v", kind, activation, got, d.Findings)
		}
	}
}

// TestLegacyModels: the models of before Megatron Core are trained as others are.
func TestLegacyModels(t *testing.T) {
	d := draft.New()
	if err := Read(d, "run.sh", "core_v0.17.1", command("pretrain_gpt.py --num-layers 8 --use-legacy-models")); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(d.Findings, func(f draft.Finding) bool {
		return f.Name == "--use-legacy-models" && f.Verdict == draft.Unknown && strings.Contains(f.Why, "before Megatron Core")
	}) {
		t.Errorf("%v", d.Findings)
	}
}

// TestAxoNN: a layer that is shared out in three directions is not one that is shared out in none.
func TestAxoNN(t *testing.T) {
	d := launched(t, "pretrain_gpt.py --num-layers 8 --row-tensor-model-parallel-size 2 --column-tensor-model-parallel-size 1 --depth-tensor-model-parallel-size 4")
	if v, ok := d.Get("constraints.layout.tensor_parallel"); ok {
		t.Errorf("tensor_parallel = %v: %v", v.Value, d.Findings)
	}
}

// TestWholeExperts: Megatron-DeepSpeed keeps experts whole beside tensor parallelism, unless
// it is told otherwise.
func TestWholeExperts(t *testing.T) {
	for options, want := range map[string]int64{
		"--moe-expert-parallel-size 8":                                    1,
		"--moe-expert-parallel-size 8 --enable-expert-tensor-parallelism": 2,
		"--expert-model-parallel-size 8":                                  2,
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --tensor-model-parallel-size 2 --num-experts 8 "+options)
		if got := d.Int("constraints.layout.expert_tensor_parallel"); got != want || slices.ContainsFunc(d.Findings, func(f draft.Finding) bool { return strings.HasPrefix(f.Name, "--enable") && f.Verdict == draft.Unknown }) {
			t.Errorf("%s: %d, want %d: %v", options, got, want, d.Findings)
		}
	}
}

// TestFormerOptimizer: AdamW by the kernel of an accelerator is AdamW.
func TestFormerOptimizer(t *testing.T) {
	for _, kind := range []string{"adamw", "fusedadamw"} {
		if d := launched(t, "pretrain_gpt.py --num-layers 8 --optimizer "+kind); d.Text("training.optimizer") != "adamw" {
			t.Errorf("%s: %q: %v", kind, d.Text("training.optimizer"), d.Findings)
		}
	}
}

// TestFormerShape: how a fork spells the way in which the rate of WSD falls.
func TestFormerShape(t *testing.T) {
	d := launched(t, "pretrain_gpt.py --num-layers 8 --train-iters 100 --lr-decay-style WSD --lr-wsd-decay-iters 10 --lr-wsd-decay-style 1-sqrt")
	if got := d.Text("training.schedule.decay_shape"); got != "minus_sqrt" {
		t.Errorf("it falls as %q", got)
	}
}

// TestSwift: what ms-swift trains with where a launch says nothing is not what Megatron-LM does.
func TestSwift(t *testing.T) {
	for line, want := range map[string]string{
		"megatron sft --num_layers 8 --tensor_model_parallel_size 2":                     "cosine 0.1 0.95 42",
		"megatron sft --tensor_model_parallel_size 2 --seed 7 --external_plugins p.py":   "cosine 0.1 0.95 7",
		"megatron sft --tensor_model_parallel_size 2 --lr_decay_style constant --seed 7": "constant 0.1 0.95 7",
		"pretrain_gpt.py --num-layers 8":                                                 "linear 0.01 0.999 1234",
	} {
		d := launched(t, line)
		if got := fmt.Sprint(d.Text("training.schedule"), " ", d.Float("training.optimizer.weight_decay"), " ", d.Float("training.optimizer.beta2"), " ", d.Int("training.seed")); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestSwiftPlugins: a file of plugins among the options of ms-swift is not the program, before
// which its launcher's options would stand.
func TestSwiftPlugins(t *testing.T) {
	const plugins = "--tensor_model_parallel_size 2 --micro_batch_size 1 --external_plugins examples/plugin.py --lr 1e-6 --global_batch_size 8 --bf16 true"
	if d := launched(t, "megatron sft "+plugins); d.Int("constraints.layout.tensor_parallel") != 2 || d.Int("constraints.layout.micro_batch_size") != 1 {
		t.Errorf("%v", d.Findings)
	}
	if err := Read(draft.New(), "run.sh", "core_v0.19.2", command("megatron rlhf --rlhf_type grpo "+plugins)); err == nil || !strings.Contains(err.Error(), "preferences or rewards") {
		t.Errorf("%v", err)
	}
}

// TestFormerNames: an optimizer and a base of rotations as forks spell them.
func TestFormerNames(t *testing.T) {
	for _, theta := range []string{"--rotary-position-embeddings-theta", "--rope-theta"} {
		d := launched(t, "pretrain_gpt_alcf.py --num-layers 8 --position-embedding-type rope --optimizer adamw "+theta+" 50000")
		if d.Text("training.optimizer") != "adamw" || d.Float("model.position_embedding.theta") != 50000 {
			t.Errorf("%s: %s, %v", theta, d.Text("training.optimizer"), d.Float("model.position_embedding.theta"))
		}
		for _, f := range d.Findings {
			if f.Verdict == draft.Unknown {
				t.Errorf("%+v", f)
			}
		}
	}
}

// TestSwissArmy: SwissArmyTransformer has names of its own for widths and positions.
func TestSwissArmy(t *testing.T) {
	d := launched(t, "finetune.py --model-parallel-size 8 --num-layers 70 --hidden-size 12288 --inner-hidden-size 32768 --num-attention-heads 96 --hidden-size-per-attention-head 64 --max-sequence-length 2048")
	for path, want := range map[string]int64{"model.ffn_hidden_size": 32768, "model.head_dim": 64, "model.max_positions": 2048, "constraints.layout.tensor_parallel": 8} {
		if got := d.Int(path); got != want {
			t.Errorf("%s = %d, want %d", path, got, want)
		}
	}
}

// TestTokens: a run that ends after tokens, or whose rate is counted in them, has as
// many steps; of several ends the first counts.
func TestTokens(t *testing.T) {
	const launch = "pretrain_gpt.py --num-layers 8 --seq-length 1024 --global-batch-size 16 --lr 1e-3 --min-lr 1e-5 --lr-decay-style cosine "
	for options, want := range map[string]string{
		"--train-tokens 1638400":                                                    "steps=100 warmup=0 decay=0 Mapped=1",
		"--train-tokens 1638401 --train-samples 3200":                               "steps=101 warmup=0 decay=0 Mapped=1",
		"--train-tokens 1638400 --train-samples 800":                                "steps=50 warmup=0 decay=0 Mapped=1",
		"--train-tokens 1638400 --train-iters 70":                                   "steps=70 warmup=0 decay=0 Mapped=1",
		"--train-tokens 1638400 --lr-warmup-tokens 163840 --lr-decay-tokens 819200": "steps=100 warmup=10 decay=40 Mapped=3",
		"--train-tokens 1638400 --lr-warmup-iters 20 --lr-decay-tokens 819200":      "steps=100 warmup=20 decay=30 Mapped=2",
		"--train-tokens $T --train-iters 70":                                        "steps=70 warmup=0 decay=0 Mapped=0",
	} {
		d := launched(t, launch+options)
		mapped := 0
		for _, f := range d.Findings {
			if strings.HasSuffix(f.Name, "-tokens") && f.Verdict == draft.Mapped {
				mapped++
			}
		}
		got := fmt.Sprintf("steps=%d warmup=%d decay=%d Mapped=%d", d.Int("training.steps"), d.Int("training.schedule.warmup_steps"), d.Int("training.schedule.decay_steps"), mapped)
		if got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestFormerMaybe: an option of a fork that may be there or not pins nothing, and
// what says nothing in any case is left out.
func TestFormerMaybe(t *testing.T) {
	c := command("pretrain_gpt.py --num-layers 8 --data-impl mmap --deepspeed --zero-stage 1")
	for i := range c.Words[3:] {
		c.Words[3+i].Maybe = true
	}
	d := draft.New()
	if err := Read(d, "run.sh", "core_v0.19.2", c); err != nil {
		t.Fatal(err)
	}
	if d.Has("constraints.layout.zero_stage") {
		t.Errorf("zero_stage = %d, which only the run knows", d.Int("constraints.layout.zero_stage"))
	}
	want := map[string]string{"--data-impl": "", "--deepspeed": conditional, "--zero-stage": conditional}
	for _, f := range d.Findings {
		if why, ok := want[f.Name]; ok && why != "" && f.Why != why || f.Name == "--data-impl" && f.Verdict != draft.Left {
			t.Errorf("%+v", f)
		}
	}
}

// TestGradientsOfFP16: without --accumulate-allreduce-grads-in-fp32 gradients have
// the type of the parameters, which a job can not have in fp16, and that is said.
func TestGradientsOfFP16(t *testing.T) {
	for options, want := range map[string]string{
		"":       "<nil>",
		"--fp16": "fp32 the launch has its gradients in fp16, which ndc does not offer",
		"--fp16 --accumulate-allreduce-grads-in-fp32": "fp32 ",
		"--bf16":                       "fp32 ",
		"--bf16 --grad-reduce-in-bf16": "bf16 ",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 16 "+options)
		got := "<nil>"
		if v, ok := d.Get("execution.gradient_dtype"); ok {
			got = fmt.Sprint(v.Value, " ", v.Note)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", options, got, want)
		}
	}
}

// TestForks: words of forks for heads of keys and values, experts and sequence
// parallelism, whose defaults are not the release's.
func TestForks(t *testing.T) {
	const experts = "--num-experts 128 --moe-expert-parallel-size 64 --moe-loss-coeff 0.01 "
	for options, want := range map[string]string{
		"":                                        "kv_heads=<nil> ep=<nil> cp=1 top_k=<nil> every=<nil> asks []",
		"--num-key-value-heads 4":                 "kv_heads=4 ep=<nil> cp=1 top_k=<nil> every=<nil> asks []",
		"--attention-head-type multiquery":        "kv_heads=1 ep=<nil> cp=1 top_k=<nil> every=<nil> asks []",
		"--attention-head-type multihead":         "kv_heads=<nil> ep=<nil> cp=1 top_k=<nil> every=<nil> asks []",
		"--ds-sequence-parallel-size 1":           "kv_heads=<nil> ep=<nil> cp=1 top_k=<nil> every=<nil> asks []",
		"--ds-sequence-parallel-size 4":           "kv_heads=<nil> ep=<nil> cp=<nil> top_k=<nil> every=<nil> asks []",
		"--moe-expert-parallel-size 1":            "kv_heads=<nil> ep=<nil> cp=1 top_k=<nil> every=<nil> asks []",
		experts:                                   "kv_heads=<nil> ep=64 cp=1 top_k=<nil> every=<nil> asks [model.moe.layer_frequency model.moe.top_k]",
		"--topk 1 --expert-interval 2 " + experts: "kv_heads=<nil> ep=64 cp=1 top_k=1 every=2 asks []",
		experts + "--expert-interval 2 --topk 1":  "kv_heads=<nil> ep=64 cp=1 top_k=1 every=2 asks []",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 16 "+options)
		get := func(path string) any { v, _ := d.Get(path); return v.Value }
		got := fmt.Sprintf("kv_heads=%v ep=%v cp=%v top_k=%v every=%v asks %v", get("model.kv_heads"), get("constraints.layout.expert_parallel"),
			get("constraints.layout.context_parallel"), get("model.moe.top_k"), get("model.moe.layer_frequency"), d.Asked())
		if got != want {
			t.Errorf("%q: %s, want %s", options, got, want)
		}
	}
	if d := launched(t, "pretrain_gpt.py --num-layers 8 --hidden-size 64 --normalization rmsnorm"); d.Text("model.normalization") != "rmsnorm" {
		t.Errorf("rmsnorm: %q", d.Text("model.normalization"))
	}
}

// TestMindSpeed: options of MindSpeed say what they say, and those that no job says leave
// open what Megatron-LM's default would pin.
func TestMindSpeed(t *testing.T) {
	d := launched(t, "pretrain_gpt.py --num-layers 62 --hidden-size 64 --num-attention-heads 16 --num-experts 64 --moe-router-topk 6 --moe-ffn-hidden-size 32 --pipeline-model-parallel-size 2 "+
		"--first-k-dense-replace 3 --n-shared-experts 2 --multi-latent-attention --kv-lora-rank 16 --qk-nope-head-dim 96 --qk-rope-head-dim 32 "+
		"--context-parallel-size 2 --context-parallel-algo ulysses_cp_algo --noop-layers 61 --swap-optimizer --recompute-activation-function")
	for path, want := range map[string]any{
		"model.moe.first_dense_layers": int64(3), "model.moe.shared_experts": int64(2), "model.mla.qk_nope_head_dim": int64(96), "model.mla.qk_rope_head_dim": int64(32),
		"execution.context_parallel_type": "ulysses", "constraints.layout.pipeline_parallel": int64(2),
		"model.layers": int64(61), "execution.offload.optimizer": nil, "constraints.layout.recompute": nil,
	} {
		if v, _ := d.Get(path); v.Value != want {
			t.Errorf("%s = %v, want %v", path, v.Value, want)
		}
	}
}

// TestAllExperts: -1 is no dense layer and every layer, as Python counts.
func TestAllExperts(t *testing.T) {
	for options, want := range map[string]string{
		"--first-k-dense-replace -1 --moe-layer-freq -1": "0 0 0",
		"--first-k-dense-replace 2 --moe-layer-freq 1":   "2 0 0",
		"--first-k-dense-replace 1 --moe-layer-freq 2":   "1 0 1",
		"--first-k-dense-replace -1 --moe-layer-freq 0":  "0 0 1",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-experts 8 "+options)
		n := 0
		for _, f := range d.Findings {
			if f.Verdict == draft.Unknown && (f.Name == "--first-k-dense-replace" || f.Name == "--moe-layer-freq") {
				n++
			}
		}
		if got := fmt.Sprint(d.Int("model.moe.first_dense_layers"), " ", d.Int("model.moe.layer_frequency"), " ", n); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestNoops: layers that do nothing are none of the model's, and the stages that hold them have
// fewer.
func TestNoops(t *testing.T) {
	for options, want := range map[string]string{
		"--noop-layers 7": "7 2 0 [4 3]",
		"--noop-layers 0,7 --num-layers-per-virtual-pipeline-stage 2": "6 1 0 [1 2 2 1]",
		"--noop-layers 7 --pipeline-model-parallel-size 1":            "7 2 0 <nil>",
		"--noop-layers 8":                      "8 2 1 <nil>",
		"--noop-layers 6 --num-layer-list 0,3": "7 2 1 <nil>",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-experts 8 --first-k-dense-replace 2 --pipeline-model-parallel-size 2 "+options)
		unknown := 0
		for _, f := range d.Findings {
			if f.Verdict == draft.Unknown {
				unknown++
			}
		}
		stages, _ := d.Get("constraints.layout.stage_layers")
		if got := fmt.Sprint(d.Int("model.layers"), " ", d.Int("model.moe.first_dense_layers"), " ", unknown, " ", stages.Value); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestExtendedExperts: MindSpeed spreads experts over tensor ranks, too, and has a pipeline of
// its own, of which nothing is pinned.
func TestExtendedExperts(t *testing.T) {
	const model = "pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-experts 8 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 "
	for options, want := range map[string]string{
		"--expert-model-parallel-size 4":                     "4 2 1 1f1b",
		"--expert-model-parallel-size 4 --moe-tp-extend-ep":  "8 1 1 1f1b",
		"--moe-tp-extend-ep --expert-model-parallel-size $E": "0 1 1 1f1b",
		"--schedules-method dualpipev":                       "1 2 0 ",
	} {
		c := command(model + options)
		for i, w := range c.Words {
			c.Words[i].Open = strings.HasPrefix(w.Text, "$")
		}
		d := draft.New()
		if err := Read(d, "run.sh", "", c); err != nil {
			t.Fatal(err)
		}
		const layout = "constraints.layout."
		if got := fmt.Sprint(d.Int(layout+"expert_parallel"), " ", d.Int(layout+"expert_tensor_parallel"), " ", d.Int(layout+"virtual_pipeline"), " ", d.Text(layout+"pipeline_schedule")); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestMindSpeedPositions: MindSpeed scales positions by options of its own.
func TestMindSpeedPositions(t *testing.T) {
	const scaling = "model.position_embedding.scaling."
	for options, want := range map[string]string{
		"--rope-scaling-type yarn --rope-scaling-factor 40 --rope-scaling-mscale 0.7 --rope-scaling-mscale-all-dim 0.7 --rope-scaling-original-max-position-embeddings 8192 --beta-fast 16 --beta-slow 2": "yarn 40 8192 0.7 0.7 16 2",
		"--rope-scaling-type llama3 --rope-scaling-factor 8 --original-max-position-embeddings 4096 --low-freq-factor 1 --high-freq-factor 4":                                                             "llama3 8 4096 0 0 0 0",
		"--rope-scaling-type longrope --rope-scaling-original-max-position-embeddings 4096":                                                                                                               " 0 0 0 0 0 0",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --hidden-size 64 --use-rotary-position-embeddings "+options)
		got := fmt.Sprint(d.Text(scaling+"type"), " ", d.Float(scaling+"factor"), " ", d.Int(scaling+"original_length"), " ", d.Float(scaling+"mscale"), " ", d.Float(scaling+"mscale_all_dim"), " ", d.Float(scaling+"beta_fast"), " ", d.Float(scaling+"beta_slow"))
		if got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestSwallowPositions: Swallow's fork scales positions as Llama 3.1 where it is told a factor.
func TestSwallowPositions(t *testing.T) {
	const scaling = "model.position_embedding.scaling."
	d := launched(t, "pretrain_gpt.py --num-layers 8 --hidden-size 64 --position-embedding-type rope --rope-theta 500000 --rope-factor 16.0 --rope-low-freq-factor 1.0 --rope-high-freq-factor 2.0 --rope-original-max-positional-embeddings 4096")
	got := fmt.Sprint(d.Text(scaling+"type"), " ", d.Float(scaling+"factor"), " ", d.Float(scaling+"low_frequency_factor"), " ", d.Float(scaling+"high_frequency_factor"), " ", d.Int(scaling+"original_length"))
	if want := "llama3 16 1 2 4096"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestMindSpeedMixers: MindSpeed says by an interval which layers attend, and by options of
// its own what else is Qwen3-Next's.
func TestMindSpeedMixers(t *testing.T) {
	const model = "pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-experts 8 --moe-intermediate-size 32 --n-shared-experts 1 --use-rotary-position-embeddings --linear-num-key-heads 4 "
	d := launched(t, model+"--full-attention-interval 4 --shared-expert-gate --norm-topk-prob --moe-router-pre-softmax --partial-rotary-factor 0.25 --mamba-d-conv 2 --add-rmsnorm-offset")
	for path, want := range map[string]any{
		"model.layer_pattern": "GEGEGE*EGEGEGE*E", "model.attention_output_gate": true, "model.delta_net.conv_kernel": int64(2),
		"model.moe.shared_expert_gate": true, "model.moe.router.normalize": true, "model.moe.expert_ffn_hidden_size": int64(32),
		"model.position_embedding.partial": 0.25, "model.zero_centered_norm": true,
	} {
		if v, _ := d.Get(path); v.Value != want {
			t.Errorf("%s = %v, want %v", path, v.Value, want)
		}
	}
	for _, f := range d.Findings {
		if f.Verdict == draft.Unknown {
			t.Errorf("not understood: %v", f)
		}
	}
	if d := launched(t, model+"--full-attention-interval 0"); d.Has("model.layer_pattern") || d.HasBlock("model.delta_net") {
		t.Errorf("of an interval that is none: %v", d.Paths())
	}
}

// TestUnderscores: a program on top of Megatron-LM that spells its options with underscores,
// and gives switches truth values, is read as Megatron-LM's; one of another kind is not.
func TestUnderscores(t *testing.T) {
	const line = "megatron sft --model org/name --tensor_model_parallel_size 2 --pipeline_model_parallel_size=4 --micro_batch_size 1 --global_batch_size 16 " +
		"--sequence_parallel true --overlap_grad_reduce false --lr 1e-5 --bf16 true --output_dir out"
	if _, ok := Command(&shell.Script{Commands: []shell.Command{command(line)}}); !ok {
		t.Fatal("no launch")
	}
	d := draft.New()
	if err := Read(d, "run.sh", "", command(line)); err != nil {
		t.Fatal(err)
	}
	get := func(path string) any { v, _ := d.Get(path); return v.Value }
	got := fmt.Sprintln(get("constraints.layout.tensor_parallel"), get("constraints.layout.pipeline_parallel"), get("constraints.layout.sequence_parallel"), get("training.global_batch_size"), get("training.precision"), get("execution.overlap_gradient_reduce"))
	if want := "2 4 true 16 bf16 false\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if d.HasBlock("model") {
		t.Errorf("of a model that is named elsewhere: %v", d.Paths())
	}
	for line, want := range map[string]bool{
		"pretrain_gpt.py --use-checkpoint-args":                                   false,
		"pretrain_gpt.py --use-checkpoint-args --num-layers 8 --hidden-size 64":   true,
		"train.py --own 1 --tensor-model-parallel-size 2":                         false,
		"train.py --own 1 --tensor-model-parallel-size 2 --num-layers 8 --swiglu": true,
	} {
		if d := launched(t, line); d.Has("model.normalization") != want {
			t.Errorf("%s: of the model %v", line, d.Paths())
		}
	}
	const named = "pretrain_gpt.py --num_layers 24 --hidden_size 1024 --num_attention_heads 16 --micro_batch_size 8 --global_batch_size 64 --train_iters 9"
	if d := launched(t, named); d.Int("model.layers") != 24 || d.Int("training.steps") != 9 {
		t.Errorf("of a program that is named as Megatron-LM's: %v", d.Paths())
	}
	const other = "python train.py --num_layers 2 --weight_decay 0.1 --adam_beta1 0.9 --adam_beta2 0.95 --bf16 true --seed 1 --global_batch_size 4 --num_workers 2"
	if c, ok := Command(&shell.Script{Commands: []shell.Command{command(other)}}); ok {
		t.Errorf("taken for a launch of Megatron-LM: %v", c)
	}
}

// TestPrograms: what a program on top of Megatron-LM sets by itself is read, and a precision
// that one may set by itself is none.
func TestPrograms(t *testing.T) {
	for about, p := range programs() {
		known := strings.TrimSpace(strings.Join([]string{p.Option, p.Command, p.Script}, " "))
		_, fork := former()[p.Option]
		if known == "" || strings.Contains(known, " ") || p.Source == "" || spelled(p.Option) && !fork || p.Script != "" && p.Trains == "" && p.Blocks == nil || p.Command != "" && p.Trains != "" {
			t.Errorf("%s: %+v", about, p)
		}
		for argument := range p.Sets {
			if a, _ := language.At(argument); a == nil && !slices.Contains(labelled, argument) {
				t.Errorf("%s: there is no %s", about, argument)
			}
		}
	}
	for line, want := range map[string]string{
		"train_async.py --actor-num-nodes 4":                     "bf16 1",
		"train_async.py --actor-num-nodes 4 --fp16":              "fp16 1",
		"train_async.py --own":                                   "<nil> 0",
		"pretrain_gpt.py --own":                                  "fp32 0",
		"megatron sft":                                           "fp32 1",
		"megatron sft --use_distributed_optimizer false":         "fp32 0",
		"torchrun --nproc_per_node 8 -m swift.cli._megatron.sft": "fp32 1",
		"torchrun swift/cli/_megatron/sft.py":                    "fp32 1",
		"train.py":                                               "fp32 0",
		"train.py --own --bf16 --use-distributed-optimizer":      "bf16 1",
		"train_async.py --actor-num-nodes 4 --bf16? --fp16?":     "<nil> 1",
	} {
		c := command(line + " --num-layers 8 --tensor_model_parallel_size 1")
		for i := range c.Words {
			c.Words[i].Text, c.Words[i].Maybe = strings.CutSuffix(c.Words[i].Text, "?")
		}
		d := draft.New()
		if err := Read(d, "run.sh", "core_v0.19.2", c); err != nil {
			t.Fatal(err)
		}
		precision, _ := d.Get("training.precision")
		stage, _ := d.Get("constraints.layout.zero_stage")
		if got := fmt.Sprint(precision.Value, " ", stage.Value); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestOtherModels: a program of Megatron-LM that trains no decoder is named, and its job
// says an architecture that the language refuses.
func TestOtherModels(t *testing.T) {
	for program, want := range map[string]string{"pretrain_gpt.py": "gpt", "/megatron/examples/bert/pretrain_bert.py": "bert", "pretrain_t5.py": "t5", "scripts/train_esm2.py": "esm2"} {
		d := launched(t, "torchrun "+program+" --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 512")
		named := slices.ContainsFunc(d.Findings, func(f draft.Finding) bool { return f.Name == program && f.Verdict == draft.Unknown })
		if got := d.Text("model.architecture"); got != want || named != (want != "gpt") || d.Unsaid("model") != named {
			t.Errorf("%s: %s %v", program, got, named)
		}
	}
	const vision = "torchrun examples/multimodal/train.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 --language-model-type qwen2.0_72B --freeze-ViT"
	if d := launched(t, vision); d.Text("model.architecture") != "llava" || !d.Unsaid("model") {
		t.Errorf("a model of vision and language: %s", d.Text("model.architecture"))
	}
}

// TestVoid: a setting that the job is without is not said to be mapped.
func TestVoid(t *testing.T) {
	const dense = "pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --seq-length 64 --global-batch-size 8 --micro-batch-size 1 "
	const experts = dense + "--num-experts 8 --moe-router-enable-expert-bias --moe-router-score-function sigmoid "
	for line, want := range map[string][]draft.Verdict{
		dense + "--train-iters 100 --lr-warmup-fraction 0.05":                               {draft.Mapped},
		dense + "--train-iters $N --lr-warmup-fraction 0.05":                                {draft.Unknown},
		dense + "--make-vocab-size-divisible-by 1":                                          {draft.Unknown},
		dense + "--make-vocab-size-divisible-by 128":                                        {draft.Mapped},
		dense + "--vocab-size 1000 --make-vocab-size-divisible-by 1":                        {draft.Mapped},
		dense + "--kv-lora-rank 512":                                                        {draft.Left},
		dense + "--multi-latent-attention --kv-lora-rank 512":                               {draft.Mapped},
		dense + "--multi-latent-attention --qk-layernorm":                                   {draft.Mapped},
		dense + "--eval-iters 0 --eval-interval 9":                                          {draft.Left},
		dense + "--finetune":                                                                {draft.Left},
		dense + "--load /c --finetune":                                                      {draft.Mapped},
		dense + "--load /c --save /c --finetune":                                            {draft.Unknown},
		experts + "--moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 1e-4":     {draft.Unknown, draft.Unknown},
		experts + "--moe-router-load-balancing-type seq_aux_loss --moe-aux-loss-coeff 1e-4": {draft.Mapped, draft.Mapped},
		"megatron sft --model a/b --tensor_model_parallel_size 2 --expert_model_parallel_size 4 --micro_batch_size 1 --global_batch_size 16 --moe_aux_loss_coeff 1e-3": {draft.Unknown},
	} {
		d := launched(t, line)
		words := strings.Fields(line)
		for i, verdict := range want { // of the last options of the line
			name := ""
			for j, left := len(words)-1, len(want)-i; left > 0; j-- {
				if strings.HasPrefix(words[j], "--") {
					name, left = strings.ReplaceAll(words[j], "_", "-"), left-1
				}
			}
			for _, f := range d.Findings {
				if f.Name == name && f.Verdict != verdict {
					t.Errorf("%s: %+v, want %s", line, f, verdict)
				}
			}
		}
	}
	if d := launched(t, dense+"--train-iters $N --lr-warmup-fraction 0.05"); !d.Unsaid("training.schedule") {
		t.Error("the job says nothing of its warm-up")
	}
}

// TestSpelledOtherwise: options that earlier releases and programs on top spell otherwise
// count before what these set themselves.
func TestSpelledOtherwise(t *testing.T) {
	d := launched(t, "pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 8 --layernorm-epsilon 1e-6")
	if got := d.Float("model.norm_epsilon"); got != 1e-6 {
		t.Errorf("epsilon %g", got)
	}
	d = launched(t, "megatron sft --model a/b --tensor_model_parallel_size 2 --micro_batch_size 1 --lr 1e-5 --dataloader_num_workers 8")
	if got := d.Int("training.data.workers"); got != 8 {
		t.Errorf("workers %d", got)
	}
}

// TestShardBuffers: where Megatron-FSDP gathers is read, and elsewhere its buffers are none.
func TestShardBuffers(t *testing.T) {
	const sharded = "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params "
	for options, want := range map[string]string{
		sharded:                          " 0",
		sharded + "--fsdp-double-buffer": "double 0",
		sharded + "--use-nccl-ub --fsdp-double-buffer":                                     "registered 0",
		"--use-distributed-optimizer --use-nccl-ub":                                        " 1",
		"--use-megatron-fsdp --data-parallel-sharding-strategy optim --fsdp-double-buffer": " 1",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --hidden-size 64 "+options)
		n := 0
		for _, f := range d.Findings {
			if f.Verdict == draft.Unknown {
				n++
			}
		}
		if got := fmt.Sprint(d.Text("execution.shard_buffers"), " ", n); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestEnabledGraphs: --enable-cuda-graph is a former name of --cuda-graph-impl local.
func TestEnabledGraphs(t *testing.T) {
	for options, want := range map[string]string{
		"--enable-cuda-graph --cuda-graph-scope full_iteration":     "full",
		"--cuda-graph-impl local --cuda-graph-scope full_iteration": "full",
		"--enable-cuda-graph":     "",
		"--cuda-graph-impl local": "",
	} {
		if d := launched(t, "pretrain_gpt.py --num-layers 8 --hidden-size 64 "+options); d.Text("execution.cuda_graphs") != want {
			t.Errorf("%s: %q, want %q", options, d.Text("execution.cuda_graphs"), want)
		}
	}
}

// TestYuan: Yuan says its norm by an option of its own, and its MLP is as wide with a gate as
// without.
func TestYuan(t *testing.T) {
	const model = "pretrain_yuan.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --swiglu --num-experts 8 --norm-dtype RMSNorm "
	for options, want := range map[string]string{
		"":                    "rmsnorm 128 128",
		"--lf-conv2d-group 1": "rmsnorm 256 256",
		"--lf-conv2d-group 1 --ffn-hidden-size 8": "rmsnorm 8 8",
	} {
		d := launched(t, model+options)
		if got := fmt.Sprint(d.Text("model.normalization"), " ", d.Int("model.ffn_hidden_size"), " ", d.Int("model.moe.expert_ffn_hidden_size")); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestBlocks: layers that a fork's own option lays on stages are not said to be refused.
func TestBlocks(t *testing.T) {
	const line = "pretrain_yuan.py --num-layers 42 --hidden-size 64 --num-attention-heads 8 --pipeline-model-parallel-size 4 "
	for options, want := range map[string]bool{"": true, "--pipeline-model-parallel-blocks 10,11,11,10": false, "--pp-partition-method type:transformer|embedding": false} {
		if got := launched(t, line+options).Unsaid("constraints.layout"); got != want {
			t.Errorf("%q: a note: %v", options, got)
		}
	}
}

// TestOther: a launch that trains something else than all weights on text is refused, as
// options of the Trainer are.
func TestOther(t *testing.T) {
	const line = "megatron sft --model a/b --tensor_model_parallel_size 2 --micro_batch_size 1 --global_batch_size 16 --lr 1e-5 "
	for options, want := range map[string]string{
		"--tuner_type lora": "adapters", "--train_type lora": "adapters", "--rlhf_type dpo": "preferences", "--task_type seq_cls": "no language model",
		"--tuner_type full --task_type causal_lm": "", "--lora_target_modules linear_qkv": "adapters", "--use_lora --lora_rank 10": "adapters", "--use_qlora": "adapters", "--use-lora --lora-r 8": "adapters", "--use_lora False": "", "--low-cpu-fsdp": "FSDP", "--sharding-strategy FULL_SHARD": "FSDP", "--use-zero": "DeepSpeed", "--tuner_type full --lora_rank 8": "",
	} {
		err := Read(draft.New(), "run.sh", "", command(line+options))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", options, err, want)
		}
	}
}

// TestCorrected: what becomes of a setting stands in the report once, and is what the job has
// of it after all settings are read.
func TestCorrected(t *testing.T) {
	const decays = "it acts beside --lr-decay-style WSD alone"
	for options, want := range map[string]string{
		"--lr-decay-style constant --min-lr 1e-5 --lr-decay-iters 80": "--lr-decay-style: training.schedule; --min-lr: left out, a constant rate does not fall; --lr-decay-iters: left out, a constant rate does not fall",
		"--lr-decay-style cosine --lr-wsd-decay-iters 9":              "--lr-decay-style: training.schedule; --lr-wsd-decay-iters: left out, " + decays,
		"--lr-decay-style WSD --lr-wsd-decay-iters 0":                 "--lr-decay-style: training.schedule; --lr-wsd-decay-iters: training.schedule",
		"--lr-decay-style WSD --lr-wsd-decay-iters 9":                 "--lr-decay-style: training.schedule; --lr-wsd-decay-iters: training.schedule.decay_steps",
		"--load /base":               "--load: training.start",
		"--load None":                "--load: left out, Megatron-LM finds no checkpoint there, and starts from random weights",
		"--load <path>":              "--load: not understood, which checkpoint is loaded is known only when the script runs",
		"--load /run --save /run":    "--load: training.checkpoint.path; --save: training.checkpoint.path, ndc appends /megatron",
		"--mock-data --split 99,1,0": "--mock-data: training.data.mock; --split: left out, data that are made up are not split",
		"--tokenizer-type MultimodalTokenizer --tokenizer-model /x": "--tokenizer-type: not understood, no value of training.data.tokenizer; --tokenizer-model: not understood, which tokenizer reads it is not known",
		"--wandb-entity me":                "--wandb-entity: left out, nothing is logged there without --wandb-project",
		"--profile-step-start 5":           "--profile-step-start: left out, nothing is traced without --profile",
		"--cp-comm-type a2a":               "--cp-comm-type: left out, it changes nothing beside the other settings",
		"--distributed-timeout-minutes 60": "--distributed-timeout-minutes: training.timeout.collective",
		"--distributed-timeout-minutes 9 --distributed-timeout-seconds-after-init 60": "--distributed-timeout-minutes: training.timeout.first_step; --distributed-timeout-seconds-after-init: training.timeout.collective",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --train-iters 100 --lr 1e-3 --bf16 "+options)
		var got []string
		for _, f := range d.Findings {
			if !strings.Contains(" "+options+" ", " "+f.Name+" ") {
				continue
			}
			verdict := f.To
			if f.Verdict != draft.Mapped {
				verdict = string(f.Verdict)
			}
			if f.Why != "" {
				verdict += ", " + f.Why
			}
			got = append(got, f.Name+": "+verdict)
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s:\n got %s\nwant %s", options, strings.Join(got, "; "), want)
		}
	}
	if d := launched(t, "pretrain_gpt.py --num-layers 8 --train-iters 100 --lr 1e-3 --lr-decay-style WSD --lr-wsd-decay-iters 0 --lr-warmup-iters 5"); d.Text("training.schedule") != "constant" || d.Int("training.schedule.warmup_steps") != 5 || d.Has("training.schedule.decay_steps") {
		t.Errorf("a rate that does not fall is %v", d.Paths())
	}
}

// TestBesideFewerBits: 8 bits are beside bf16 in a job, and where a launch has them beside
// another type nothing says that it is kept.
func TestBesideFewerBits(t *testing.T) {
	for options, want := range map[string]string{
		"--bf16":                               "",
		"--bf16 --fp8-format hybrid":           "",
		"--fp16":                               "",
		"--fp16 --fp8-format hybrid":           "the launch has fp16 beside fewer bits, ndc bf16",
		"--fp8-format e4m3 --swiglu":           "the launch has fp32 beside fewer bits, ndc bf16",
		"--fp8-format e4m3 --fp8-recipe mxfp8": "the launch has fp32 beside fewer bits, ndc bf16",
	} {
		d := launched(t, "pretrain_gpt.py --num-layers 8 --train-iters 100 --lr 1e-3 "+options)
		if v, _ := d.Get("training.precision"); v.Note != want {
			t.Errorf("%s: %v is noted %q", options, v.Value, v.Note)
		}
		for _, f := range d.Findings {
			if kept := f.Verdict == draft.Mapped; f.Name == "--fp16" && kept != (want == "") {
				t.Errorf("%s: %s is %s", options, f.Name, f.Verdict)
			}
		}
	}
}

// TestSwiftNames: what ms-swift calls otherwise than Megatron-LM is read: above all the length of
// sequences, without which the job would have those of its model.
func TestSwiftNames(t *testing.T) {
	d := launched(t, "megatron sft --model a/b --tensor_model_parallel_size 2 --micro_batch_size 1 --global_batch_size 16 --lr 1e-5 --train_iters 90 --eval_iters 5 "+
		"--max_length 8192 --output_dir out --save_steps 30 --eval_steps 40 --logging_steps 7 --num_train_epochs 3")
	for path, want := range map[string]any{
		"model.sequence_length": int64(8192), "training.checkpoint.path": "out", "training.checkpoint.interval": int64(30),
		"training.data.validation.interval": int64(40), "training.logging.interval": int64(7),
	} {
		if v, _ := d.Get(path); v.Value != want {
			t.Errorf("%s = %v, want %v", path, v.Value, want)
		}
	}
	for _, f := range d.Findings {
		if f.Name == "--num-train-epochs" && !strings.Contains(f.Why, "passes over data") {
			t.Errorf("%+v", f)
		}
	}
}
